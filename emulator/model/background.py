"""Background load: the jobs of local users on the clusters, and the dummy jobs that hold their load in a band.

Both Close-to-Files and the communication-aware policies were evaluated under such a load: of 15 to 20 percent of all
processors in the latter paper, of 30 to 40, 50 and 60 percent in the former. The load is that of local and dummy jobs;
jobs of the grid do not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, PositiveFloat, PositiveInt, Tag, model_validator

from emulator.model.documents import DocumentModel
from emulator.model.errors import InvalidInput
from emulator.model.held_nodes import whole
from emulator.model.job import MAX_COMPONENT_PROCESSORS
from emulator.model.topology import Topology

NO_LOCAL_JOBS: Final = "none"
LOG_SUFFIXES: Final = (".swf", ".swf.gz")
DEFAULT_VOID_AFTER_S: Final = 60.0
ROUNDING: Final = 1e-9
"""A share of processors this close to a whole number is that number."""

Size = Annotated[PositiveInt, Field(le=MAX_COMPONENT_PROCESSORS)]
Sizes = Annotated[tuple[Size, ...], Field(min_length=1)]
Share = Annotated[float, Field(ge=0, le=1)]


def processor_band(band: tuple[float, float], processors: int) -> ProcessorBand:
    """Return a band that is stated in shares, in whole processors of a system, or of a cluster, of that many."""
    low, high = band
    return ProcessorBand(math.ceil(low * processors - ROUNDING), math.floor(high * processors + ROUNDING))


def parse_band(text: str) -> tuple[float, float]:
    """Return the band that `text` states in percent, such as ``30-40``.

    Raises:
        InvalidInput: if it is not two numbers.
    """
    low, _, high = text.removesuffix("%").partition("-")
    try:
        return float(low) / 100, float(high) / 100
    except ValueError:
        raise InvalidInput(f"--band: must be two percentages such as 30-40, not {text!r}.") from None


class Scope(StrEnum):
    """Where the lower end of the band holds: over the whole system, or in each cluster. The upper end is the system's.

    The Close-to-Files paper states the lower end for each cluster.
    """

    SYSTEM = "system"
    CLUSTER = "cluster"


class UniformLengths(DocumentModel):
    """Lengths of jobs, uniform between `low_s` and `high_s`."""

    low_s: Annotated[PositiveFloat, Field(le=1e7)]
    high_s: Annotated[PositiveFloat, Field(le=1e7)]

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.low_s > self.high_s:
            raise ValueError(f"high_s: must be at least low_s, which is {self.low_s:g}")
        return self

    def divided(self, time_scale: float) -> UniformLengths:
        """Return the same with its times divided by `time_scale`."""
        return self.model_copy(update={"low_s": self.low_s / time_scale, "high_s": self.high_s / time_scale})

    def of(self, share: float) -> float:
        """Return the length at `share` of the range, from 0 to 1."""
        return self.low_s + share * (self.high_s - self.low_s)


class DummyJobs(DocumentModel):
    """The sizes in processors that dummy jobs may have, and their lengths."""

    sizes: Sizes = (1, 2, 4, 8)
    lengths: UniformLengths = UniformLengths(low_s=120, high_s=600)


class MeanInterarrival(DocumentModel):
    """Exponentially distributed times between arrivals, of mean `mean_s`."""

    distribution: Literal["exponential"] = "exponential"
    mean_s: Annotated[PositiveFloat, Field(le=1e7)]


class LocalStream(DocumentModel):
    """A Poisson stream of local users' jobs: uniform choices of a size, and of a length."""

    interarrival: MeanInterarrival
    sizes: Sizes
    lengths: UniformLengths

    def divided(self, time_scale: float) -> LocalStream:
        """Return the same with its times divided by `time_scale`."""
        interarrival = self.interarrival.model_copy(update={"mean_s": self.interarrival.mean_s / time_scale})
        return self.model_copy(update={"interarrival": interarrival, "lengths": self.lengths.divided(time_scale)})


def _none_or_log(text: str) -> str:
    if text.lower() == NO_LOCAL_JOBS:
        return NO_LOCAL_JOBS
    if not text.lower().endswith(LOG_SUFFIXES):
        raise ValueError(f"must be none, a stream (interarrival, sizes, lengths) or a log FILE.swf, not {text!r}")
    return text


def _kind_of_local_jobs(stated: object) -> str:
    return "stream" if isinstance(stated, dict | LocalStream) else "log"


LogOrNone = Annotated[str, AfterValidator(_none_or_log)]
LocalJobs = Annotated[
    Annotated[LocalStream, Tag("stream")] | Annotated[LogOrNone, Tag("log")], Discriminator(_kind_of_local_jobs)
]


@dataclass(frozen=True, slots=True)
class ProcessorBand:
    """The least and the most processors of a system, or of a cluster, that keep its background load in its band."""

    least: int
    most: int

    @property
    def middle(self) -> int:
        """The number of processors half way between both ends."""
        return (self.least + self.most) // 2

    def is_held_by(self, smallest: int, step: int) -> bool:
        """Return whether dummy jobs of `smallest` processors reach it from any load that is a multiple of `step`."""
        return smallest <= self.most // step * step - whole(self.least, step) + step


class Background(DocumentModel):
    """A background load that is held in a band.

    `band` holds the least and the most share of all processors. Below it dummy jobs are injected, above it they are
    killed. A run is void if the load was above its band for more than `void_after_s` and no dummy job was left. A log
    of `local_jobs` that has another digest than `log_digest` is refused; None takes any.
    """

    band: tuple[Share, Share]
    scope: Scope = Scope.SYSTEM
    local_jobs: LocalJobs = NO_LOCAL_JOBS
    log_digest: str | None = None
    void_after_s: Annotated[PositiveFloat, Field(le=86_400)] = DEFAULT_VOID_AFTER_S
    dummy: DummyJobs = DummyJobs()

    @model_validator(mode="after")
    def _is_a_band_with_its_log(self) -> Self:
        low, high = self.band
        if low >= high:
            raise ValueError(f"band: its upper end must be above its lower end {low:g}, not {high:g}")
        if self.log_digest is not None and self.log is None:
            raise ValueError("log_digest: goes with a log (local_jobs: FILE.swf); leave it out")
        return self

    @property
    def log(self) -> str | None:
        """The file of the log of local jobs; None if there is none."""
        is_log = isinstance(self.local_jobs, str) and self.local_jobs != NO_LOCAL_JOBS
        return str(self.local_jobs) if is_log else None

    def of(self, processors: int) -> ProcessorBand:
        """Return the band in processors of a system, or of a cluster, of that many."""
        return processor_band(self.band, processors)

    def divided(self, time_scale: float) -> Background:
        """Return the same with its times divided by `time_scale`; a log is divided where it is read."""
        local = self.local_jobs.divided(time_scale) if isinstance(self.local_jobs, LocalStream) else self.local_jobs
        dummy = self.dummy.model_copy(update={"lengths": self.dummy.lengths.divided(time_scale)})
        changes = {"local_jobs": local, "dummy": dummy, "void_after_s": self.void_after_s / time_scale}
        return self.model_copy(update=changes)

    def _check_on_each(self, topology: Topology, smallest: int, step: int) -> None:
        """Check that dummy jobs of `smallest` processors can hold the band in each cluster."""
        for cluster in topology.clusters:
            band = self.of(cluster.processors)
            if band.least > 0 and not band.is_held_by(smallest, step):
                low, high = self.band
                raise InvalidInput(
                    f"background.scope: a band of {low:.0%} to {high:.0%} cannot be held in the {cluster.processors} "
                    f"processors of cluster {cluster.name} by dummy jobs of {smallest} or more (take scope: system)."
                )

    def check_on(self, topology: Topology) -> None:
        """Check that this load is possible on `topology`.

        Raises:
            InvalidInput: if a local job of some size fits in no cluster, or no dummy job in the band.
        """
        sizes = [cluster.processors for cluster in topology.clusters]
        if isinstance(self.local_jobs, LocalStream) and max(self.local_jobs.sizes) > max(sizes):
            raise InvalidInput(
                f"background.local_jobs.sizes: a local job of {max(self.local_jobs.sizes)} processors is larger than "
                f"every cluster of {topology.name}, the largest of which has {max(sizes)}."
            )
        band = self.of(sum(sizes))
        together = topology.processors_taken_together
        held = [whole(size, together) for size in self.dummy.sizes]
        smallest, step = min(held), math.gcd(*held) if self.local_jobs == NO_LOCAL_JOBS else together
        if self.scope is Scope.CLUSTER:
            self._check_on_each(topology, smallest, step)
        if not band.is_held_by(smallest, step):
            raise InvalidInput(
                f"background.dummy.sizes: dummy jobs of {smallest} processors or more cannot hold a band of "
                f"{band.least} to {band.most} processors of {topology.name} (give smaller sizes, or a wider band)."
            )
