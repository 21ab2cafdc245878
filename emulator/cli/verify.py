"""The verb ``verify``: the wide area, measured against the topology."""

from __future__ import annotations

import math
import sys
from typing import Annotated

import typer

from emulator.cli.foreign_text import say
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.tables import show_rows
from emulator.containers.wan.measurements import LinkMeasurement
from emulator.model.counts import number_of
from emulator.model.errors import WideAreaUnfaithful
from emulator.runs.container_testbed import verify


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("verify")(verify_wide_area)


def verify_wide_area(
    dilation: Annotated[float, typer.Option(help="Host seconds per emulated second.")] = 1.0,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Measure every link and direction of the wide area against what is asked of it.

    Example: testbed verify --dilation 8
    """
    report = verify(name, dilation, lambda step: say(f"{step.stage}: {step.detail}", to_error=True, flush=True))
    show_rows([_measurement_row(measurement) for measurement in report.measurements], as_json=as_json)
    failures = len(report.failures)
    if not as_json:
        print(f"router      {report.backend.shown}")
        print(f"dilation    delays at {report.dilation.factor:g}, the rest at {report.rate_dilation.factor:g}")
        print(f"repeated    {number_of(report.repetitions, 'measurement')}; {report.host_duration_s:.0f} s in all")
    if not report.carries_asked:
        print(
            f"Below dilation {report.rate_dilation.factor:g} the router does not carry full links: runs are suspect.",
            file=sys.stderr,
        )
    if not report.ok:
        first = next((_sentence(failure) for failure in report.failures), "; ".join(report.differences[:1]))
        raise WideAreaUnfaithful(
            f"The wide area is not as asked at dilation {dilation:g}: {failures} of "
            f"{number_of(len(report.measurements), 'measurement')} outside tolerance, "
            f"{number_of(len(report.differences), 'link')} programmed otherwise "
            f"({first.rstrip('.')})."
        )


def _measurement_row(measurement: LinkMeasurement) -> dict[str, object]:
    return {
        "from": measurement.source,
        "to": measurement.target,
        "quantity": measurement.quantity.value,
        "asked": _number(measurement.asked),
        "measured": _number(measurement.measured),
        "error": _number(measurement.error),
        "tolerance": _number(measurement.tolerance),
        "within": measurement.within,
    }


def _sentence(measurement: LinkMeasurement) -> str:
    return (
        f"{measurement.quantity.value} from {measurement.source} to {measurement.target}: "
        f"{measurement.measured:.4g} where {measurement.asked:.4g} was asked"
    )


def _number(value: float) -> float | None:
    """Return `value`, or None if it could not be measured."""
    return None if math.isnan(value) else value
