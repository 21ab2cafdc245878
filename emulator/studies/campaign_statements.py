"""How claims on campaigns are stated: a measured value, or a ratio of two, and the range in which it must lie.

A part is open, with what is missing, where no run of its case is given, or where the runs do not record its quantity. A
value without an interval decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from emulator.fidelity.intervals import Estimate
from emulator.model.records import JobRow
from emulator.studies.campaign_runs import CampaignRun, JobValue, ratio_of
from emulator.studies.statements import OpenPart, Range, ValuePart

StatedPart = ValuePart | OpenPart
"""A part that recorded runs decide, or that they leave open."""

NOT_RECORDED: Final = "the runs do not record it, or too few jobs finished"


def wait_s(job: JobRow) -> float | None:
    """Return the wait time of a job (TWT)."""
    return job.wait_time_s


def response_s(job: JobRow) -> float | None:
    """Return the response time of a job."""
    return job.response_time_s


def finish_s(job: JobRow) -> float | None:
    """Return when a job finished."""
    return job.finished_s


def execution_s(job: JobRow) -> float | None:
    """Return the execution time of a job."""
    return job.execution_time_s


def queue_s(job: JobRow) -> float | None:
    """Return the queue time of a job."""
    return job.queue_time_s


def overhead_s(job: JobRow) -> float | None:
    """Return the overhead of a job."""
    return job.overhead_s


def clusters_combined(job: JobRow) -> float | None:
    """Return the number of clusters that a job used."""
    return job.clusters


def transfer_s(job: JobRow) -> float | None:
    """Return the estimated transfer time of a job (FTT)."""
    return job.estimated_transfer_s


def placement_tries(job: JobRow) -> float | None:
    """Return the number of placement tries of a job."""
    return job.placement_tries


def claiming_tries(job: JobRow) -> float | None:
    """Return the number of claiming tries of a job; None if its claiming was not recorded."""
    return job.claiming_tries or None


def stated(says: str, value: Estimate | None, low: float, high: float, runs: Iterable[CampaignRun]) -> StatedPart:
    """State that `value`, worked out from `runs`, lies between `low` and `high`."""
    if value is None:
        return OpenPart(says, NOT_RECORDED)
    is_open = value.low is None or any(run.is_void for run in runs)
    return ValuePart(says, value, Range(low, high), void=is_open)


def missing(says: str, **cases: Sequence[CampaignRun]) -> OpenPart | None:
    """Return the part as open if one of its `cases`, by name, has no run; None if all have."""
    without = [name.replace("_", " ") for name, runs in cases.items() if not runs]
    return OpenPart(says, f"no run of {' or of '.join(without)} is given") if without else None


def less(
    says: str, value: JobValue, above: Sequence[CampaignRun], below: Sequence[CampaignRun], bound: float = 1.0
) -> StatedPart:
    """State that the mean of a value in the first case is less than `bound` times that in the second."""
    return _compared(says, value, above, below, -math.inf, bound)


def more(says: str, value: JobValue, above: Sequence[CampaignRun], below: Sequence[CampaignRun]) -> StatedPart:
    """State that the mean of a value in the first case is more than that in the second."""
    return _compared(says, value, above, below, 1.0, math.inf)


def about(
    says: str, value: JobValue, above: Sequence[CampaignRun], below: Sequence[CampaignRun], margin: float
) -> StatedPart:
    """State that the means of a value in both cases are the same, within the share `margin`."""
    return _compared(says, value, above, below, 1 / (1 + margin), 1 + margin)


def _compared(
    says: str,
    value: JobValue,
    above: Sequence[CampaignRun],
    below: Sequence[CampaignRun],
    low: float,
    high: float,
) -> StatedPart:
    open_part = missing(says, the_first=above, the_second=below)
    if open_part is not None:
        return open_part
    return stated(says, ratio_of(above, value, below), low, high, (*above, *below))
