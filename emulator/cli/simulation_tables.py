"""The results of a simulation, printed: statistics for people and for programs, and doubtful records of a log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from emulator.campaigns.simulated_run import judged
from emulator.campaigns.simulated_workload import SimulatedWorkload
from emulator.cli.foreign_text import say, say_left_out
from emulator.cli.tables import show_rows
from emulator.fidelity.judgement import Judgement
from emulator.model.counts import number_of
from emulator.model.times import TimeSource
from emulator.planning.planned_jobs import UNSTATED_ITERATIONS
from emulator.policies.registry import default_policy
from emulator.reports.text import with_interval
from emulator.simulator.estimates import Interval, Statistics
from emulator.simulator.simulation import SimulationResult
from workloads.swf import Remark

_SHOWN_REMARKS: Final = 10

BATCHES_INDEPENDENT: Final = "batches of jobs taken as independent"
"""What is said beside the intervals of one simulation, which are too narrow where it is short."""


def show_simulation(subject: SimulatedWorkload, result: SimulationResult, *, as_json: bool) -> Judgement:
    """Print a simulation, the remarks on its workload on stderr and then its statistics; return the verdict on it."""
    _say_left_out(subject)
    _say_where_times_come_from(subject)
    _say_what_was_ended(subject, result)
    if as_json:
        print(json.dumps(statistics_object(subject, result), indent=2, allow_nan=False))
    else:
        show_rows(statistics_rows(subject, result), as_json=False, title=f"Simulation of {subject.name}")
    return judged(result.statistics.jobs_arrived, result).judgement


def show_simulations(
    simulated: Mapping[str, tuple[SimulatedWorkload, SimulationResult]], *, as_json: bool
) -> list[Judgement]:
    """Print a row for each simulation like a run, under the name of that run; return the verdicts on them."""
    verdicts = {name: judged(result.statistics.jobs_arrived, result) for name, (_, result) in simulated.items()}
    if as_json:
        objects = [{"run": name, **statistics_object(*simulation)} for name, simulation in simulated.items()]
        print(json.dumps(objects, indent=2, allow_nan=False))
    else:
        rows = [
            {
                "run": name,
                "campaign": f"{subject.name} {subject.policy or default_policy(subject.queue)}",
                "seed": subject.seed,
                "jobs finished": f"{result.statistics.jobs_finished} of {result.statistics.jobs_arrived}",
                "wait (s)": result.statistics.total.wait_s,
                "execution (s)": result.statistics.total.execution_s,
                "response (s)": result.statistics.total.response_s,
                "makespan (s)": result.statistics.makespan_s,
                "verdict": "; ".join([verdicts[name].judgement.value, *verdicts[name].reasons]),
            }
            for name, (subject, result) in simulated.items()
        ]
        show_rows(rows, as_json=False, title="Simulations of live runs")
    return [verdict.judgement for verdict in verdicts.values()]


def _say_where_times_come_from(subject: SimulatedWorkload) -> None:
    """Print a line if execution times, or factors that a table lacks, come from the model or from a run."""
    times = subject.times
    if times is None:
        return
    in_table = None if times.table is None else times.jobs_in_table()
    say(f"Execution times: {times_sentence(times.jobs_by_source(), in_table)}", to_error=True)
    for application in times.assumed_lengths():
        say(
            f"Jobs of {application!r} do not state how long they run: {UNSTATED_ITERATIONS} iterations are assumed.",
            to_error=True,
        )


def times_sentence(by_source: Mapping[str, int], in_table: int | None) -> str:
    """Return how many jobs got their times from each source and, with a table of factors, how many are in that.

    With a table, that no job is measured is said, too.
    """
    always = () if in_table is None else (TimeSource.MEASURED,)
    sources = [each for each in TimeSource if by_source.get(each) or each in always]
    jobs = ", ".join(f"{number_of(by_source.get(each, 0), 'job')} {each}" for each in sources)
    if in_table is None:
        return f"{jobs}."
    return f"{jobs}. The table held the factors of {number_of(in_table, 'job')}."


def _say_what_was_ended(subject: SimulatedWorkload, result: SimulationResult) -> None:
    """Print how many jobs were ended at the run-time limit, if any were."""
    limit_s, ended = subject.run_time_limit_s, result.statistics.jobs_reached_limit
    if limit_s is not None and ended:
        say(
            f"Ended at run_time_limit_s ({limit_s:g} s), as live: {ended} of "
            f"{number_of(result.statistics.jobs_arrived, 'job')}.",
            to_error=True,
        )


def _say_left_out(subject: SimulatedWorkload) -> None:
    """Print how many records of a log are left out; of a log without a campaign also which, and the doubtful ones."""
    left_out = int(subject.record.get("left_out", 0))
    if not subject.remarks:
        say_left_out(subject.name, left_out)
        return
    for remark in subject.remarks[: min(left_out, _SHOWN_REMARKS)]:
        say(f"{subject.name}, {remark}", to_error=True)
    if left_out:
        say(f"{subject.name}: {number_of(left_out, 'record')} left out", to_error=True)
    show_remarks(subject.name, subject.remarks[left_out:])


def show_remarks(name: str, remarks: Sequence[Remark]) -> None:
    """Print the first doubtful records of the log `name` on stderr, and how many more there are."""
    for remark in remarks[:_SHOWN_REMARKS]:
        say(f"{name}, {remark}", to_error=True)
    if len(remarks) > _SHOWN_REMARKS:
        say(f"{name}: {len(remarks) - _SHOWN_REMARKS} more doubtful records", to_error=True)


def statistics_object(subject: SimulatedWorkload, result: SimulationResult) -> dict[str, Any]:
    """Return everything known of a simulation, for programs."""
    statistics = asdict(result.statistics)
    statistics["global"] = statistics.pop("global_")
    verdict = judged(result.statistics.jobs_arrived, result)
    return {
        "workload": subject.name,
        "topology": subject.topology.name,
        "policy": subject.policy or default_policy(subject.queue),
        "queue": subject.queue,
        **statistics,
        "gross_over_net": result.statistics.gross_over_net,
        "background": None if result.background is None else result.background.record(),
        "times": None if subject.times is None else subject.times.jobs_by_source(),
        "remarks": [str(remark) for remark in subject.remarks],
        "jobs_per_second": result.jobs_per_host_second,
        "verdict": verdict.judgement.value,
        "verdict_reasons": list(verdict.reasons),
    }


def statistics_rows(subject: SimulatedWorkload, result: SimulationResult) -> list[dict[str, Any]]:
    """Return the statistics that people want first, one a row."""
    found: Statistics = result.statistics
    values: dict[str, Any] = {
        "topology": subject.topology.name,
        "policy / queue": f"{subject.policy or default_policy(subject.queue)} / {subject.queue}",
        "jobs finished": f"{found.jobs_finished} of {found.jobs_arrived}",
        **_responses(found),
        "wait time (s)": found.total.wait_s,
        "execution time (s)": found.total.execution_s,
        "gross utilization": found.gross_utilization,
        "net utilization": found.net_utilization,
        "saturated": found.saturated,
        "makespan (s)": found.makespan_s,
        **_background_and_verdict(result),
        "jobs simulated per second": round(result.jobs_per_host_second),
    }
    return [{"quantity": quantity, "value": value} for quantity, value in values.items()]


def _background_and_verdict(result: SimulationResult) -> dict[str, Any]:
    """Return how the background load was held, and the verdict; nothing of a valid simulation without such a load."""
    verdict = judged(result.statistics.jobs_arrived, result)
    found = {} if result.background is None else {"background load in its band": result.background.share_in_band}
    if not found and verdict.judgement is Judgement.VALID:
        return {}
    return {**found, "verdict": "; ".join([verdict.judgement.value, *verdict.reasons])}


def _responses(found: Statistics) -> dict[str, str]:
    """Return the mean responses with their intervals, and what these take for granted; a saturated mean has none."""
    shown: dict[str, Interval | None] = {
        "response time (s)": found.response_s,
        "  single-component jobs": found.local_response_s,
        "  multicomponent jobs": found.global_response_s,
    }
    if found.saturated:
        shown = {name: around and Interval(around.mean, None, None) for name, around in shown.items()}
    rows = {name: _interval(around) for name, around in shown.items()}
    if any(around is not None and around.low is not None for around in shown.values()):
        rows["  intervals"] = BATCHES_INDEPENDENT
    return rows


def _interval(around: Interval | None) -> str:
    return "" if around is None else with_interval(around.mean, around.low, around.high)
