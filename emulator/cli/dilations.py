"""The option ``--dilation K|auto`` of the verbs that run something, and the plan behind it.

Where the dilation is left to the planner, the host is measured if it never was. Where it is stated, what is known of
the host is used to refuse the hopeless, and nothing is measured for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.campaigns.conduct import Tell
from emulator.campaigns.host_costs import host_costs, known_host_costs
from emulator.campaigns.plan_records import ALL_JOBS, Outcome, Settled
from emulator.campaigns.planning import settled_plan
from emulator.cli.tables import show_rows
from emulator.fidelity.plan import PlannedRun
from emulator.model.errors import InvalidInput

AUTO: Final = "auto"
OUTCOMES_TITLE: Final = "Predicted and happened"

DilationOption = Annotated[
    str, typer.Option("--dilation", metavar="K|auto", help="Host seconds per emulated second; auto: as planned.")
]
EvenIfHopelessOption = Annotated[
    bool, typer.Option("--even-if-hopeless", help="Run even what the plan says will be void.")
]

_MOST_OUTCOMES: Final = 24
"""Jobs that are shown one by one; of more only the sum is."""


def asked_dilation(text: str) -> float | None:
    """The number that ``--dilation`` says; None if it is left to the planner.

    Raises:
        InvalidInput: if it is neither.
    """
    if text == AUTO:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInput(f"--dilation: must be a number or {AUTO!r}, not {text!r}.") from error


def settle(run: PlannedRun, asked: float | None, tell: Tell, *, even_if_hopeless: bool) -> Settled:
    """The dilation of `run`, as asked or as planned.

    Raises:
        Hopeless: if the run would be void, or no dilation is faithful, unless it is to run even so.
        EngineUnavailable: if the host must be measured and Docker does not answer.
    """
    costs = host_costs(tell) if asked is None else known_host_costs()
    if costs is None:
        assert asked is not None
        return Settled(asked, run)
    plan = settled_plan(run, costs, asked, even_if_hopeless=even_if_hopeless)
    return Settled(plan.dilation, run, plan, costs)


def announce(settled: Settled, *, planned: bool) -> None:
    """Say on stderr at which dilation a run will be, and what binds there."""
    if settled.plan is None:
        print("Nothing is predicted of this run: this host is not measured (`testbed plan` does).", file=sys.stderr)
        return
    plan, binding = settled.plan, settled.plan.binding
    how = "planned" if planned else "asked for"
    print(
        f"Dilation {plan.dilation:g}, as {how}: {plan.late_phase_share:.1%} of phases late, "
        f"about {plan.host_cpu_s:.3g} s of CPU; nearest to its limit: {binding.name} ({binding.strain:.0%} of it).",
        file=sys.stderr,
    )


def keep_and_show(settled: Settled, path: Path, *, as_json: bool) -> None:
    """Keep the plan with the run in `path`, and show what was predicted beside what happened."""
    found = settled.keep(path)
    shown = found if len(found) <= _MOST_OUTCOMES else [it for it in found if it.name == ALL_JOBS]
    if shown and not as_json:
        show_rows(outcome_table(shown), as_json=False, title=OUTCOMES_TITLE)


def outcome_table(found: Sequence[Outcome]) -> list[dict[str, object]]:
    """A row for each: what was predicted beside what happened."""
    return [
        {
            "job": it.name,
            "late phases, predicted": f"{it.predicted_late_phase_share:.1%}",
            "happened": f"{it.late_phase_share:.1%}",
            "CPU (s), predicted": f"{it.predicted_host_cpu_s:.3g}",
            "CPU (s), happened": f"{it.host_cpu_s:.3g}",
        }
        for it in found
    ]
