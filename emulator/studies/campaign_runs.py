"""Runs of campaigns as claims see them: which case of a paper each belongs to, and values with intervals.

Several runs of a case are replications, one value each, paired by their seeds. One run alone is divided into batches of
consecutive jobs, or of equal periods, as is usual for a single long simulation. Runs of one seed are compared over the
jobs that finished in both, so that their batches hold the same jobs, and are paired.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from emulator.fidelity.intervals import Estimate, mean, paired_ratio_of_means, ratio_of_means
from emulator.fidelity.verdict import Judgement
from emulator.model.cell_rows import ExtensionFactorRow
from emulator.model.records import JobRow, Manifest
from emulator.runs.steps import Steps, mean_between
from emulator.runs.timelines import (
    BACKGROUND,
    COALLOCATION,
    PGT,
    PWT,
    WAITING,
    Timelines,
    mean_shares,
    utilization_split,
    waiting_jobs,
)

BATCHES: Final = 10
WARM_UP_SHARE: Final = 0.1
"""The share of the arrivals before which a run's utilization is not counted: it fills up."""

HEAVY_BACKGROUNDS: Final = (0.5, 0.6)
"""The background loads of the further runs of the Close-to-Files paper, which are cases of their own."""

JobValue = Callable[[JobRow], float | None]


@dataclass(frozen=True, slots=True)
class CampaignRun:
    """What claims need of a run of a campaign, so that hundreds of runs fit into memory.

    `jobs` are those that finished, in order of submission. `shares` is the share of all processors in each kind of use,
    in each of `BATCHES` equal periods. `longest_queue` is the largest number of jobs that waited at a time, and
    `waiting_at_last_arrival` their mean number in the last tenth of the arrivals, which a stable queue keeps low.
    """

    path: Path
    manifest: Manifest
    band: tuple[float, float] | None
    has_background: bool
    jobs: Sequence[JobRow]
    factors: Sequence[ExtensionFactorRow]
    shares: Mapping[str, list[float]]
    longest_queue: int
    waiting_at_last_arrival: float

    @classmethod
    def of(cls, run: Timelines) -> CampaignRun:
        """Return what claims need of `run`."""
        records = run.records
        arrivals = sorted(job.submitted_s for job in run.jobs)
        queue = waiting_jobs(run)
        return cls(
            records.path,
            records.manifest,
            run.band,
            bool(run.background),
            sorted(run.finished, key=lambda job: (job.submitted_s, job.job)),
            records.extension_factors,
            _shares(run, arrivals),
            int(max(queue.values[WAITING], default=0)),
            _waiting_at_the_end(queue, arrivals),
        )

    @property
    def campaign(self) -> str:
        """The campaign's name, in small letters."""
        return self.manifest.name.lower()

    @property
    def policy(self) -> str:
        """The placement policy."""
        return self.manifest.policy

    @property
    def seed(self) -> int:
        """The seed, by which runs are paired."""
        return self.manifest.seed

    @property
    def is_void(self) -> bool:
        """Whether its figures cannot be trusted."""
        return self.manifest.verdict == Judgement.VOID

    @property
    def is_heavy(self) -> bool:
        """Whether its band reaches the least of the heavy background loads."""
        return self.band is not None and self.band[1] >= min(HEAVY_BACKGROUNDS)

    @property
    def heavy_background(self) -> float | None:
        """The heavy background load that its band stands for: the only one in it; None if there is none, or both."""
        low, high = self.band or (0.0, 0.0)
        held = [background for background in HEAVY_BACKGROUNDS if low <= background <= high]
        return held[0] if len(held) == 1 else None

    @property
    def replicas(self) -> int | None:
        """The number of replicas of every input file; None if there are no files, or the number was drawn."""
        files = self.manifest.workload.get("input_files")
        stated = files.get("replicas") if isinstance(files, dict) else None
        return int(stated[0]) if isinstance(stated, list | tuple) and len(set(stated)) == 1 else None


def _shares(run: Timelines, arrivals: Sequence[float]) -> dict[str, list[float]]:
    """Return the shares in use from the first tenth of the arrivals to the last one."""
    begin_s = arrivals[int(WARM_UP_SHARE * len(arrivals))] if arrivals else 0.0
    end_s = arrivals[-1] if arrivals else 0.0
    split, width_s = utilization_split(run), (end_s - begin_s) / BATCHES
    found = [
        mean_shares(run, split, begin_s + number * width_s, begin_s + (number + 1) * width_s)
        for number in range(BATCHES)
    ]
    return {part: [shares[part] for shares in found] for part in (BACKGROUND, COALLOCATION, PWT, PGT)}


def _waiting_at_the_end(queue: Steps, arrivals: Sequence[float]) -> float:
    if not arrivals:
        return 0.0
    begin_s = arrivals[int((1 - WARM_UP_SHARE) * len(arrivals))]
    return mean_between(queue.times_s, queue.values[WAITING], begin_s, arrivals[-1])


def of_case(
    runs: Iterable[CampaignRun],
    campaign: str,
    policy: str,
    replicas: int | None = None,
    background: float | None = None,
) -> list[CampaignRun]:
    """Return the runs of one case, by seed; if given, those with `replicas`, and whose band stands for `background`."""
    found = [run for run in runs if (run.campaign, run.policy) == (campaign, policy)]
    if replicas is not None:
        found = [run for run in found if run.replicas == replicas]
    if background is not None:
        found = [run for run in found if run.heavy_background == background]
    return sorted(found, key=lambda run: run.seed)


def mean_of(runs: Sequence[CampaignRun], value: JobValue) -> Estimate | None:
    """Return the mean of a value of jobs over runs of a case; None if no job has it."""
    values = _series(runs, value)
    return mean(values) if values else None


def mean_share(runs: Sequence[CampaignRun], *parts: str) -> Estimate | None:
    """Return the mean share of the processors in some kinds of use together, over runs of a case."""
    values = [[sum(shares) for shares in zip(*(run.shares[part] for part in parts), strict=True)] for run in runs]
    return mean(_means(values)) if values else None


def ratio_of_shares(runs: Sequence[CampaignRun], above: str, below: str) -> Estimate | None:
    """Return the ratio of two kinds of use in the same runs."""
    return paired_ratio_of_means(
        _means([run.shares[above] for run in runs]), _means([run.shares[below] for run in runs])
    )


def ratio_of(
    above: Sequence[CampaignRun], value: JobValue, below: Sequence[CampaignRun], other: JobValue | None = None
) -> Estimate | None:
    """Return the ratio of the means of a value in two cases, or of two values in one; None if it has no meaning.

    Only runs of seeds that both cases have count, and are paired; without such seeds all count, as independent.
    """
    other = other or value
    if not _share_seeds(above, below):
        return ratio_of_means(_series(above, value), _series(below, other))
    pairs = paired_by_seed(above, value, below, other)
    return paired_ratio_of_means(
        _series([mine for mine, _ in pairs], value), _series([theirs for _, theirs in pairs], other)
    )


def difference_over(
    runs: Sequence[CampaignRun], others: Sequence[CampaignRun], value: JobValue, scale: JobValue
) -> Estimate | None:
    """Return the difference of the means of a value in two cases, over the mean of `scale` in the second.

    Runs are paired as by `ratio_of`, so that what a seed does to both cases cancels out. Without common seeds the
    intervals of both means add up.
    """
    if not _share_seeds(runs, others):
        return _difference(ratio_of(runs, value, others, scale), ratio_of(others, value, others, scale))
    pairs = paired_by_seed(runs, value, others, value)
    theirs = [second for _, second in pairs]
    both = zip(_series([first for first, _ in pairs], value), _series(theirs, value), strict=True)
    return paired_ratio_of_means([one - another for one, another in both], _series(theirs, scale))


def _difference(mine: Estimate | None, theirs: Estimate | None) -> Estimate | None:
    """Return the difference of two independent values; None if one of them is unknown or has no interval."""
    if mine is None or theirs is None or mine.low is None or theirs.low is None:
        return None
    half = math.hypot(mine.value - mine.low, theirs.value - theirs.low)
    value = mine.value - theirs.value
    return Estimate(value, value - half, value + half, min(mine.n, theirs.n))


def _share_seeds(above: Sequence[CampaignRun], below: Sequence[CampaignRun]) -> bool:
    return bool({run.seed for run in above} & {run.seed for run in below})


def paired_by_seed(
    above: Sequence[CampaignRun], value: JobValue, below: Sequence[CampaignRun], other: JobValue
) -> list[tuple[CampaignRun, CampaignRun]]:
    """Return the runs of each seed that both cases have, with the jobs that finished in both and have the values.

    Two campaigns have other jobs each, so that all of theirs are kept. A seed without any such job is left out.
    """
    others = {run.seed: run for run in below}
    pairs = [_of_same_jobs(run, value, others[run.seed], other) for run in above if run.seed in others]
    return [(mine, theirs) for mine, theirs in pairs if mine.jobs and theirs.jobs]


def _of_same_jobs(
    mine: CampaignRun, value: JobValue, theirs: CampaignRun, other: JobValue
) -> tuple[CampaignRun, CampaignRun]:
    first = [job for job in mine.jobs if value(job) is not None]
    second = [job for job in theirs.jobs if other(job) is not None]
    if mine.campaign == theirs.campaign:
        names = {job.name for job in first} & {job.name for job in second}
        first = [job for job in first if job.name in names]
        second = [job for job in second if job.name in names]
    return replace(mine, jobs=first), replace(theirs, jobs=second)


def values_of(runs: Iterable[CampaignRun], value: JobValue, keep: Callable[[JobRow], bool]) -> list[float]:
    """Return a value of all jobs of some runs that are to be kept."""
    return [found for run in runs for job in run.jobs if keep(job) and (found := value(job)) is not None]


def _series(runs: Sequence[CampaignRun], value: JobValue) -> list[float]:
    return independent([[found for job in run.jobs if (found := value(job)) is not None] for run in runs])


def independent(values: Sequence[Sequence[float]]) -> list[float]:
    """Return the means of the values of each run that has some; where only one has, those of its batches."""
    found = [of_run for of_run in values if of_run]
    if len(found) == 1:
        found = [[statistics.fmean(batch) for batch in _batches(found[0])]]
    return _means(found)


def _means(values: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of each replication; of a single one its own batches."""
    return list(values[0]) if len(values) == 1 else [statistics.fmean(of_run) for of_run in values]


def _batches(values: Sequence[float]) -> list[Sequence[float]]:
    """Return at most `BATCHES` batches of at least two consecutive values, of sizes that differ by one at most."""
    count = min(BATCHES, len(values) // 2)
    ends = [round(number * len(values) / count) for number in range(count + 1)] if count else []
    return [values[begin:end] for begin, end in pairwise(ends)]
