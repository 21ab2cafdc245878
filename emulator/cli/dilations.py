"""The option ``--dilation K|auto`` of the verbs that run something, and the plan behind it.

If the dilation is left to the planner, the host is measured unless that was done before. If it is stated, nothing is
measured; what is known of the host is used to refuse hopeless runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.cli.tables import show_rows
from emulator.model.errors import InvalidInput
from emulator.planning.host_costs import host_costs, known_host_costs
from emulator.planning.plan import PlannedRun
from emulator.planning.plan_records import ALL_JOBS, DilationChoice, Outcome
from emulator.planning.planned_runs import settled_plan
from emulator.runs.progress import ReportProgress

AUTO: Final = "auto"
OUTCOMES_TITLE: Final = "Predicted and happened"

DilationOption = Annotated[
    str, typer.Option("--dilation", metavar="K|auto", help="Host seconds per emulated second; auto: as planned.")
]
EvenIfHopelessOption = Annotated[
    bool, typer.Option("--even-if-hopeless", help="Run even what the plan says will be void.")
]

_MOST_OUTCOMES: Final = 24
"""Up to this many jobs are shown one by one; of more, only the sum is shown."""


def parse_dilation(text: str) -> float | None:
    """Return the number that ``--dilation`` states; None if it is left to the planner.

    Raises:
        InvalidInput: if it is neither.
    """
    if text == AUTO:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInput(f"--dilation: must be a number or {AUTO!r}, not {text!r}.") from error


def settle(
    run: PlannedRun, requested: float | None, report_progress: ReportProgress, *, even_if_hopeless: bool
) -> DilationChoice:
    """Choose the dilation of `run`, as asked or as planned.

    Raises:
        Hopeless: if the run would be void, or no dilation is faithful, and `even_if_hopeless` is false.
        EngineUnavailable: if the host must be measured and Docker does not answer.
    """
    costs = host_costs(report_progress) if requested is None else known_host_costs()
    if costs is None:
        assert requested is not None
        return DilationChoice(requested, run)
    plan = settled_plan(run, costs, requested, even_if_hopeless=even_if_hopeless)
    return DilationChoice(plan.dilation, run, plan, costs)


def announce(choice: DilationChoice, *, planned: bool) -> None:
    """Say on stderr at which dilation a run will be, and what binds there."""
    if choice.plan is None:
        print("Nothing is predicted of this run: this host is not measured (`testbed plan` does).", file=sys.stderr)
        return
    plan, binding = choice.plan, choice.plan.binding
    how = "planned" if planned else "asked for"
    print(
        f"Dilation {plan.dilation:g}, as {how}: {plan.late_phase_share:.1%} of phases late, "
        f"about {plan.host_cpu_s:.3g} s of CPU; nearest to its limit: {binding.name} ({binding.strain:.0%} of it).",
        file=sys.stderr,
    )


def keep_and_show(choice: DilationChoice, path: Path, *, as_json: bool) -> None:
    """Keep the plan with the run in `path`, and show what was predicted beside what happened."""
    found = choice.keep(path)
    shown = found if len(found) <= _MOST_OUTCOMES else [outcome for outcome in found if outcome.name == ALL_JOBS]
    if shown and not as_json:
        show_rows(outcome_table(shown), as_json=False, title=OUTCOMES_TITLE)


def outcome_table(found: Sequence[Outcome]) -> list[dict[str, object]]:
    """Return a row for each outcome: what was predicted beside what happened."""
    return [
        {
            "job": outcome.name,
            "late phases, predicted": f"{outcome.predicted_late_phase_share:.1%}",
            "happened": f"{outcome.late_phase_share:.1%}",
            "CPU (s), predicted": f"{outcome.predicted_host_cpu_s:.3g}",
            "CPU (s), happened": f"{outcome.host_cpu_s:.3g}",
        }
        for outcome in found
    ]
