"""The verbs that measure: ``measure`` (extension factors) and ``verify`` (the wide area against what was asked)."""

from __future__ import annotations

import math
import sys
from typing import Annotated

import typer

from emulator.campaigns.extension import (
    DEFAULT_DILATION,
    DEFAULT_REPEAT,
    Configuration,
    Measurement,
    default_iterations,
    measure,
)
from emulator.campaigns.standing_testbed import testbed_named, verify
from emulator.cli.run_paths import OutOption, run_path
from emulator.cli.run_progress import run_progress
from emulator.cli.standing import DEFAULT_NAME, NameOption
from emulator.cli.tables import JsonOption, show_rows
from emulator.containers.wan.measurements import LinkMeasurement
from emulator.model.errors import InvalidInput, WideAreaUnfaithful
from emulator.model.records import ExtensionFactorRow


def register(app: typer.Typer) -> None:
    """Add the verbs of this file to `app`."""
    app.command("measure")(measure_factors)
    app.command("verify")(verify_wide_area)


def measure_factors(
    application: Annotated[str, typer.Option("--app", help="The application.")] = "poisson",
    grid: Annotated[int, typer.Option(help="Interior points on each side of the grid.")] = 400,
    processors: Annotated[int, typer.Option(help="Processors of the job, whatever it is spread over.")] = 16,
    clusters: Annotated[str, typer.Option(help="Numbers of clusters, for instance 1,2,4.")] = "1,2,4",
    repeat: Annotated[int, typer.Option(help="Runs of each configuration.")] = DEFAULT_REPEAT,
    iterations: Annotated[int | None, typer.Option(help="Iterations of each run; chosen by default.")] = None,
    dilation: Annotated[float, typer.Option(help="Host seconds per emulated second.")] = DEFAULT_DILATION,
    on: Annotated[str, typer.Option(help="Names of the clusters to use, in order, for instance delft,leiden.")] = "",
    out: OutOption = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Measure extension factors: how much longer a job takes when it is spread over clusters.

    Example: testbed measure --app poisson --grid 400 --processors 16 --clusters 1,2,4
    """
    counts = _numbers("clusters", clusters)
    with testbed_named(name) as testbed:
        measurement = Measurement(
            application=application,
            grid=grid,
            processors=processors,
            clusters=counts,
            repeat=repeat,
            iterations=default_iterations(grid, processors, testbed.topology.processor)
            if iterations is None
            else iterations,
            dilation=dilation,
            on=tuple(filter(None, (part.strip() for part in on.split(",")))),
        )
        path = run_path(out, f"measure-{application}")
        with run_progress() as tell:
            measured = measure(testbed, measurement, path, tell)
    if as_json:
        show_rows([it.row.model_dump(mode="json") for it in measured.configurations], as_json=True)
        return
    show_rows([_shown(it) for it in measured.configurations], as_json=False, title="Extension factors")
    _show_verdict(measured.verdict.judgement, measured.verdict.reasons)
    print(f"Records: {path}", file=sys.stderr)


def verify_wide_area(
    dilation: Annotated[float, typer.Option(help="Host seconds per emulated second.")] = 1.0,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Measure every link and direction of the wide area against what is asked of it.

    Example: testbed verify --dilation 8
    """
    report = verify(name, dilation, lambda step: print(f"{step.stage}: {step.detail}", file=sys.stderr, flush=True))
    show_rows([_measurement_row(it) for it in report.measurements], as_json=as_json)
    failures = len(report.failures)
    if not as_json:
        print(f"router      {report.backend.shown}")
        print(f"dilation    delays at {report.dilation.factor:g}, the rest at {report.rate_dilation.factor:g}")
        print(f"repeated    {report.repetitions} measurements; {report.host_duration_s:.0f} s in all")
    if not report.carries_asked:
        print(
            f"Below dilation {report.rate_dilation.factor:g} the router does not carry full links: runs are suspect.",
            file=sys.stderr,
        )
    if not report.ok:
        first = next((_sentence(it) for it in report.failures), "; ".join(report.differences[:1]))
        raise WideAreaUnfaithful(
            f"The wide area is not as asked at dilation {dilation:g}: {failures} of {len(report.measurements)} "
            f"measurements are outside their tolerance, {len(report.differences)} links were programmed otherwise "
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
    """`value`, or nothing if it could not be measured."""
    return None if math.isnan(value) else value


def _shown(configuration: Configuration) -> dict[str, object]:
    """A configuration as people read it; intervals are 95%."""
    row, late = configuration.row, configuration.late_phase_share
    return {
        "clusters": row.clusters,
        "runtime (s)": f"{row.runtime_s:.4g}",
        "iteration (ms)": "" if row.iteration_s is None else f"{row.iteration_s * 1000:.4g}",
        "factor [95%]": _factor(row),
        "n": row.n,
        "late phases": "" if late is None else f"{late:.1%}",
        "verdict": row.verdict,
    }


def _factor(row: ExtensionFactorRow) -> str:
    if row.extension_factor is None:
        return ""
    if row.ci_low is None or row.ci_high is None:
        return f"{row.extension_factor:.3f}"
    return f"{row.extension_factor:.3f} [{row.ci_low:.3f}, {row.ci_high:.3f}]"


def _show_verdict(judgement: str, reasons: tuple[str, ...]) -> None:
    print(f"Verdict: {judgement}" + "".join(f"\n  {reason}" for reason in reasons))


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise InvalidInput(f"--{option}: must be whole numbers joined by commas, not {text!r}.") from error
