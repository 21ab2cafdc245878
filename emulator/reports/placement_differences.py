"""Where two runs of one schedule placed jobs differently: which jobs, from which one on, and why the first did.

Up to the first difference both schedulers had made the same placements, so only what was idle can have differed. The
reason is therefore sought in the jobs that held processors when that job was placed, in one run and not in the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.model.records import JobRow
from emulator.runs.run_directory import RunRecords

Parts = tuple[tuple[str, int], ...]
"""The clusters of a job with the processors of each component, in order of the clusters' names."""

MOST_NAMED: Final = 3
"""How many jobs a reason names."""


@dataclass(frozen=True, slots=True)
class PlacementDifference:
    """A job that two runs placed differently."""

    job: str
    live: Parts
    simulated: Parts


@dataclass(frozen=True, slots=True)
class PlacementDifferences:
    """All jobs that were placed differently, in order of the live placements, and why the first of them was."""

    placed: int
    different: tuple[PlacementDifference, ...]
    because: str

    @property
    def first(self) -> str | None:
        """The name of the first job that was placed differently; None if all were placed alike."""
        return self.different[0].job if self.different else None


def placement_differences(live: RunRecords, simulated: RunRecords) -> PlacementDifferences:
    """Return the jobs that `simulated` placed otherwise than `live`; only jobs that both placed count."""
    mine, theirs = _placements(live), _placements(simulated)
    names = {job.name: job for job in simulated.jobs}
    placed = sorted(
        (job for job in live.jobs if job.placed_s is not None and job.name in names and job.name in mine),
        key=lambda job: (job.placed_s or 0.0, job.job),
    )
    both = [job for job in placed if job.name in theirs]
    different = [
        PlacementDifference(job.name, mine[job.name], theirs[job.name])
        for job in both
        if mine[job.name] != theirs[job.name]
    ]
    because = "" if not different else _reason(different[0].job, live, simulated, both)
    return PlacementDifferences(len(both), tuple(different), because)


def _placements(run: RunRecords) -> dict[str, Parts]:
    names = {job.job: job.name for job in run.jobs}
    parts: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for row in run.components:
        if row.job in names:
            parts[names[row.job]].append((row.cluster, row.processors))
    return {name: tuple(sorted(of_job)) for name, of_job in parts.items()}


def _reason(first: str, live: RunRecords, simulated: RunRecords, placed: Sequence[JobRow]) -> str:
    mine = {job.name: job for job in live.jobs}
    theirs = {job.name: job for job in simulated.jobs}
    at_live_s, at_simulated_s = mine[first].placed_s or 0.0, theirs[first].placed_s or 0.0
    held_live = _holding(mine, at_live_s, first)
    held_simulated = _holding(theirs, at_simulated_s, first)
    reasons: list[str] = []
    for names, where, other, times in (
        (held_live - held_simulated, "live", "simulated", (mine, theirs)),
        (held_simulated - held_live, "simulated", "live", (theirs, mine)),
    ):
        if names:
            reasons.append(_holders(sorted(names), where, other, times))
    at = f"It was placed at {at_live_s:.3f} s live and at {at_simulated_s:.3f} s simulated"
    if not reasons:
        return f"{at}; the same jobs held processors in both, so others than these jobs decided it."
    return f"{at}; {'; '.join(reasons)}."


def _holding(jobs: Mapping[str, JobRow], time_s: float, but: str) -> set[str]:
    """Return the jobs that hold processors, or have been promised them, when the job `but` is placed."""
    return {
        name
        for name, job in jobs.items()
        if name != but and job.placed_s is not None and job.placed_s <= time_s < _free_s(job)
    }


def _free_s(job: JobRow) -> float:
    """Return when a job gave its processors back; one of which that is unknown never did."""
    known = [time_s for time_s in (job.released_s, job.finished_s) if time_s is not None]
    return max(known, default=float("inf"))


def _holders(
    names: Sequence[str], where: str, other: str, times: tuple[Mapping[str, JobRow], Mapping[str, JobRow]]
) -> str:
    here, there = times
    named = ", ".join(
        f"{name} ({_until(here[name])} {where}, {_until(there[name])} {other})" for name in names[:MOST_NAMED]
    )
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"only {where}, processors were held by {named}{more}"


def _until(job: JobRow) -> str:
    if job.placed_s is None:
        return "never placed"
    free_s = _free_s(job)
    return f"from {job.placed_s:.3f} s" if free_s == float("inf") else f"{job.placed_s:.3f} to {free_s:.3f} s"
