"""A reproduction as tables: published, measured and error of each cell, mean errors, and decided claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from emulator.model.cell_rows import ReproductionRow
from emulator.reports.claim_tables import claim_objects
from emulator.reports.text import with_interval
from emulator.studies.claims import DecidedClaim
from emulator.studies.reproduction_rows import COMMUNICATION, RUNTIME, Errors, mean_errors

QUANTITIES: Final = (RUNTIME, *COMMUNICATION.values())
_GROUPS: Final = {True: "calibrated on", False: "predicted"}


def total_table(rows: Sequence[ReproductionRow]) -> list[dict[str, str]]:
    """Return the total of each cell of one quantity, for people; scaled times stay scaled."""
    return [
        {
            **_cell(row),
            "K": f"{row.dilation:g}",
            "iteration (ms)": f"{row.iteration_s * 1000:.4g}",
            "published (s)": _number(None if row.published_s is None else row.published_s / row.processor_speed),
            "measured (s)": _number(row.measured_s),
            "error": _percent(row.error),
            "calibrated on": "yes" if row.calibrated else "",
            "verdict": row.verdict,
        }
        for row in rows
    ]


def factor_table(rows: Sequence[ReproductionRow]) -> list[dict[str, str]]:
    """Return the extension factor of each cell that has one."""
    return [
        {
            **_cell(row),
            "published": _number(row.published_factor),
            "measured [95%]": with_interval(row.factor, row.ci_low, row.ci_high),
            "error": _percent(row.factor_error),
            "calibrated on": "yes" if row.calibrated else "",
        }
        for row in rows
        if row.factor is not None
    ]


def _cell(row: ReproductionRow) -> dict[str, str]:
    grid = "" if row.grid is None else str(row.grid)
    return {"grid": grid, "processors": str(row.processors), "setup": row.setup}


def error_table(rows: Sequence[ReproductionRow]) -> list[dict[str, str]]:
    """Return mean absolute errors of calibrated and of predicted cells."""
    return [
        {
            "quantity": quantity,
            "cells": _GROUPS[calibrated],
            "error of totals": _mean(errors.totals, errors.n_totals),
            "error of factors": _mean(errors.factors, errors.n_factors),
        }
        for quantity, calibrated, errors in _errors(rows)
    ]


def reproduction_object(
    name: str, rows: Sequence[ReproductionRow], claims: Sequence[DecidedClaim], left_out: Sequence[str]
) -> dict[str, Any]:
    """Return everything found, for programs."""
    return {
        "name": name,
        "cells": [row.model_dump(mode="json") for row in rows],
        "errors": [
            {"quantity": quantity, "calibrated": calibrated, **asdict(errors)}
            for quantity, calibrated, errors in _errors(rows)
        ],
        "claims": claim_objects(claims),
        "left_out": list(left_out),
    }


def _errors(rows: Sequence[ReproductionRow]) -> list[tuple[str, bool, Errors]]:
    """Return the mean errors of each quantity and kind of cell that has any."""
    found = [
        (quantity, calibrated, mean_errors(rows, quantity, calibrated=calibrated))
        for quantity in QUANTITIES
        for calibrated in (True, False)
    ]
    return [errors for errors in found if errors[2].n_totals]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _percent(error: float | None) -> str:
    return "" if error is None else f"{error:+.1%}"


def _mean(error: float | None, count: int) -> str:
    return "" if error is None else f"{error:.1%} ({count})"
