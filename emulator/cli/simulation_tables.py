"""The results of a simulation, printed: statistics for people and for programs, and doubtful records of a log."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from emulator.campaigns.simulated import SimulatedWorkload
from emulator.cli.foreign_text import say
from emulator.fidelity.measures import RunMeasures
from emulator.fidelity.verdict import judge_run
from emulator.policies.registry import default_policy
from emulator.reports.text import with_interval
from emulator.simulator.estimates import Interval, Statistics
from emulator.simulator.simulation import SimulationResult
from workloads.swf import Remark

_SHOWN_REMARKS: Final = 10


def show_remarks(name: str, remarks: Sequence[Remark]) -> None:
    """Print the first doubtful records of the log `name` on stderr, and how many more there are."""
    for remark in remarks[:_SHOWN_REMARKS]:
        say(f"{name}, {remark}", to_error=True)
    if len(remarks) > _SHOWN_REMARKS:
        print(f"{name}: {len(remarks) - _SHOWN_REMARKS} more doubtful records", file=sys.stderr)


def statistics_object(subject: SimulatedWorkload, result: SimulationResult) -> dict[str, Any]:
    """Return everything known of a simulation, for programs."""
    statistics = asdict(result.statistics)
    statistics["global"] = statistics.pop("global_")
    return {
        "workload": subject.name,
        "topology": subject.topology.name,
        "policy": subject.policy or default_policy(subject.queue),
        "queue": subject.queue,
        **statistics,
        "gross_over_net": result.statistics.gross_over_net,
        "background": None if result.background is None else result.background.record(),
        "remarks": [str(remark) for remark in subject.remarks],
        "jobs_per_second": result.jobs_per_host_second,
    }


def statistics_rows(subject: SimulatedWorkload, result: SimulationResult) -> list[dict[str, Any]]:
    """Return the statistics that people want first, one a row."""
    found: Statistics = result.statistics
    values: dict[str, Any] = {
        "topology": subject.topology.name,
        "policy / queue": f"{subject.policy or default_policy(subject.queue)} / {subject.queue}",
        "jobs finished": f"{found.jobs_finished} of {found.jobs_arrived}",
        "response time (s)": _interval(found.response_s),
        "  single-component jobs": _interval(found.local_response_s),
        "  multicomponent jobs": _interval(found.global_response_s),
        "wait time (s)": found.total.wait_s,
        "execution time (s)": found.total.execution_s,
        "gross utilization": found.gross_utilization,
        "net utilization": found.net_utilization,
        "saturated": found.saturated,
        "makespan (s)": found.makespan_s,
        **_background(result),
        "jobs simulated per second": round(result.jobs_per_host_second),
    }
    return [{"quantity": quantity, "value": value} for quantity, value in values.items()]


def _background(result: SimulationResult) -> dict[str, Any]:
    if result.background is None:
        return {}
    judged = judge_run(RunMeasures(background=result.background), [])
    return {
        "background load in its band": result.background.share_in_band,
        "verdict on it": "; ".join([judged.judgement.value, *judged.reasons]),
    }


def _interval(around: Interval | None) -> str:
    return "" if around is None else with_interval(around.mean, around.low, around.high)
