"""Scheduling parameters of campaigns and run requests: scans, claims, and sources of policies.

Queue disciplines are constructed with a `Scanning`; `StatedScheduling` holds the same as keys of a document. All times
are in emulated seconds. KOALA scanned every 4 s in "Communication-Aware Job Placement Policies", section 3, and at an
interval that adapts to the tries of the queued jobs, 1 min times their mean, in the Close-to-Files paper, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from emulator.model.documents import Count, DocumentModel, Real, WholeNumber

DEFAULT_SCAN_INTERVAL_S: Final = 4.0
DEFAULT_ADAPTIVE_SCAN_INTERVAL_S: Final = 60.0
LARGEST_TRIES_THRESHOLD: Final = 1_000_000
LARGEST_SOURCE_BYTES: Final = 64 * 1024
MOST_SOURCES: Final = 8


Quota = Annotated[Real, Field(gt=0, le=1)]
"""The share of each cluster that the jobs of a run may fill."""
Interval = Annotated[Real, Field(ge=1e-6, le=86_400)]
DecisionLimit = Annotated[Real, Field(ge=0.1, le=3600)]
DEFAULT_DECISION_LIMIT_S: Final = 5.0
"""CPU seconds that a decision of a researcher's own policy or queue may take."""


@dataclass(frozen=True, slots=True)
class Scanning:
    """The rules for when a queue is scanned and when a job in it is rejected.

    With `adaptive` the interval is `interval_s` times the mean number of tries of the queued jobs. A job that has been
    tried more than `tries_threshold` times is rejected; with None no job is. With `at_departures` all jobs are also
    tried when a job departs.
    """

    interval_s: float = DEFAULT_SCAN_INTERVAL_S
    adaptive: bool = False
    tries_threshold: int | None = None
    at_departures: bool = False

    def divided(self, time_scale: float) -> Scanning:
        """Return the same with its times divided by `time_scale`."""
        return replace(self, interval_s=self.interval_s / time_scale)


class StatedScheduling(DocumentModel):
    """The keys of a document for the scanning of its queue, the `quota` of each cluster that jobs may fill, and limits.

    With a quota, a policy sees min(idle, floor(quota x size) - occupied) processors of a cluster as idle. A decision of
    a researcher's own policy or queue may take `decision_limit_cpu_s` of this host's CPU in a live run.
    """

    scan_interval_s: Interval = DEFAULT_SCAN_INTERVAL_S
    adaptive_scans: bool = False
    tries_threshold: Annotated[Count, Field(le=LARGEST_TRIES_THRESHOLD)] | None = None
    scans_at_departures: bool = False
    quota: Quota | None = None
    decision_limit_cpu_s: DecisionLimit = DEFAULT_DECISION_LIMIT_S

    @property
    def scanning(self) -> Scanning:
        """The `Scanning` that these keys state."""
        return Scanning(self.scan_interval_s, self.adaptive_scans, self.tries_threshold, self.scans_at_departures)


class StatedClaiming(DocumentModel):
    """The parameters of the claiming procedure, for a run without reservations; the defaults are the paper's.

    Source: "An Evaluation of the Close-to-Files Processor and Data Co-Allocation Policy in Multiclusters", section 3.
    The procedure itself is in `emulator.policies.claiming_procedure`.

    The first claiming try comes after the share `share` (L) of the estimated file-transfer time, each later try after
    that share of the time that remains. `least_step_s` is the least time between tries. The paper has no such
    parameter; without it the tries converge on the start without reaching it. If the processors are not claimed at the
    planned start, the start is postponed by `postponement_s`. After `most_postponements` postponements, None for no
    limit, a job fails or, with `place_again`, returns to the queue and is placed again. The paper has no such return.
    Without it, a job that has no file keeps a placement that others hold for as long as they hold it.

    Raises:
        InvalidInput: if jobs are to be placed again, and no limit says when.
    """

    share: Annotated[Real, Field(gt=0, lt=1)] = 0.75
    least_step_s: Interval = 1.0
    postponement_s: Interval = 240.0
    most_postponements: Annotated[WholeNumber, Field(ge=0, le=1_000_000)] | None = None
    place_again: bool = False

    @model_validator(mode="after")
    def _check_limit(self) -> StatedClaiming:
        if self.place_again and self.most_postponements is None:
            raise ValueError(
                "place_again needs most_postponements, the postponements after which a job is placed again"
            )
        return self

    def divided(self, time_scale: float) -> StatedClaiming:
        """Return the same with its times divided by `time_scale`."""
        times_s = {key: getattr(self, key) / time_scale for key in ("least_step_s", "postponement_s")}
        return self.model_copy(update=times_s)


def _of_bearable_size(text: str) -> str:
    size_bytes = len(text.encode("utf-8", "surrogatepass"))
    if size_bytes > LARGEST_SOURCE_BYTES:
        raise ValueError(f"a source file may have {LARGEST_SOURCE_BYTES} bytes at most, not {size_bytes}")
    return text


SourceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}\.py$")]
SourceText = Annotated[str, AfterValidator(_of_bearable_size)]
Sources = Annotated[dict[SourceName, SourceText], Field(max_length=MOST_SOURCES)]
"""Python sources of a researcher's policies and disciplines, by file name without folder.

``mypolicy.py:Mine`` is the class `Mine` in one of these files. A run's request carries the sources because the broker
runs in a container that cannot read the user's files.
"""
