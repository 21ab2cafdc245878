"""A topology's numbers from a table of runtimes: what is shown, what is stored, and what is written into a topology."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emulator.fidelity.iteration.accuracy import mean_errors, row_errors, uncertainty_of
from emulator.fidelity.iteration.fitting import Fit, FittedNumber
from emulator.model.errors import InvalidInput
from emulator.model.topology import Topology
from emulator.model.whole_files import written_whole

ROWS_FILE: Final = "rows.csv"
NUMBERS_FILE: Final = "numbers.csv"
DIGITS: Final = 3
"""Significant digits of a number that is written: more than any table decides."""

Row = dict[str, str | int | float | bool | None]


def number_rows(fit: Fit) -> list[Row]:
    """Return a row for each number that was found: before, after, and what the table leaves open of it."""
    return [_number_row(number) for number in fit.numbers]


def error_rows(fit: Fit) -> list[Row]:
    """Return a row for each row of the table: known, by the model, and by the model without it and its twins."""
    found: list[Row] = []
    for index, row in enumerate(fit.table.rows):
        fitted, left_out = (row_errors(fit, index, which) for which in ("fitted", "left_out"))
        found.append(
            {
                "set": row.set,
                "application": row.application,
                "grid": row.grid,
                "processors": row.processors,
                "split": "+".join(map(str, row.split)),
                "interconnect": "" if row.interconnect is None else row.interconnect.value,
                "known_s": row.iteration_s,
                "fitted_s": fit.rows[index].fitted.iteration_s,
                "fitted_error": fitted.iteration,
                "left_out_s": fit.rows[index].left_out.iteration_s,
                "left_out_error": left_out.iteration,
                "left_out_factor_error": left_out.factor,
                "left_out_slowdown_error": left_out.slowdown,
            }
        )
    return found


def mean_rows(fit: Fit) -> list[Row]:
    """Return the mean absolute errors of each set, fitted and left out."""
    found: list[Row] = []
    for name in fit.table.sets:
        for which in ("fitted", "left_out"):
            errors = mean_errors(fit, name, which)
            found.append(
                {
                    "set": name,
                    "rows": which.replace("_", " "),
                    "runtimes": errors.rows,
                    "runtime_error": errors.iteration,
                    "factors": errors.factors,
                    "factor_error": errors.factor,
                    "slowdown_error": errors.slowdown,
                }
            )
    return found


def warnings(fit: Fit) -> Iterator[str]:
    """Say which numbers the table does not decide, and which it cannot tell apart."""
    for number in fit.numbers:
        if not number.decided:
            yield f"{number.unknown.name} is not decided by this table: it stays near what was stated."
    for first, second, correlation in fit.inseparable:
        yield (
            f"{first.name} and {second.name} cannot be told apart by this table (correlation {correlation:+.2f}): only"
            " what they give together is known."
        )


def fitted_topology(fit: Fit, set_name: str | None) -> Topology:
    """Return the topology with the numbers found, and the uncertainty of what it predicts.

    Numbers of the day are those of the set `set_name` (None: the first one).

    Raises:
        InvalidInput: if there is no such set.
    """
    name = fit.table.sets[0] if set_name is None else set_name.lower()
    if name not in fit.table.sets:
        raise InvalidInput(f"--day: the table has no set {name!r} (it has {', '.join(fit.table.sets)}).")
    found = fit.topology
    for number in fit.numbers:
        if number.unknown.set in (None, name):
            found = number.unknown.parameter.write(found, float(f"{number.value:.{DIGITS}g}"))
    return found.model_copy(update={"uncertainty": uncertainty_of(fit)})


def store(fit: Fit, folder: Path) -> None:
    """Write the errors of all rows and the numbers found into files of `folder`."""
    for file_name, rows in ((ROWS_FILE, error_rows(fit)), (NUMBERS_FILE, number_rows(fit))):
        with written_whole(folder / file_name) as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def _number_row(number: FittedNumber) -> Row:
    unknown = number.unknown
    return {
        "number": unknown.parameter.key,
        "set": unknown.set or "",
        "unit": unknown.parameter.unit,
        "before": float(f"{unknown.start / unknown.parameter.unit_s:.4g}"),
        "after": float(f"{number.value / unknown.parameter.unit_s:.4g}"),
        "relative_error": round(number.relative_error, 3),
        "decided": number.decided,
        "what": unknown.parameter.reason,
    }
