"""Runtime models, which give a job's execution time for its placement, and the delay before its start.

A job has a service time, its execution time in a single cluster (net). A model gives the execution time at its
placement (gross). Only the number of clusters counts: a job with all components in one cluster is not extended.

    OneFactor        the same extension factor for every job over several clusters (SP, section 4)
    FactorTable      a factor by application, processors and clusters, measured or published (MB, Tables 4 and 5)
    Preparation      the middleware overhead and the file transfer, between placement and start

A model that must know each job's problem is a `RuntimeOfJobs`. A `Contention` says how jobs slow each other down; it
can be used with any of these models, and ``shared_links`` contains one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.placement import Placement


class RuntimeModel(Protocol):
    """The interface of runtime models."""

    def execution_s(self, application: str, placement: Placement, service_s: float) -> float:
        """Return the undisturbed execution time, in seconds, of a job at `placement`.

        `service_s` is its execution time in a single cluster.
        """
        ...


class Contention(Protocol):
    """The interface of models in which each start and end of a job may move the ends of other jobs."""

    def begin(self, job: int, placement: Placement, service_s: float, execution_s: float, time_s: float) -> None:
        """Start job number `job` at the emulated timestamp `time_s`.

        It takes `service_s` in a single cluster, and `execution_s` at its placement if nobody disturbs it.
        """
        ...

    def end(self, job: int, time_s: float) -> None:
        """End job number `job` at the emulated timestamp `time_s`."""
        ...

    def moved(self) -> Sequence[tuple[int, float]]:
        """Return the jobs whose expected end has changed since the last call, each with its new end."""
        ...


class RuntimeOfJobs(Protocol):
    """The interface of runtime models that know each job: its application's problem, not only the application."""

    def execution_of_s(self, job: int, placement: Placement, service_s: float) -> float:
        """Return the execution time, in seconds, of job number `job` at `placement`."""
        ...


def clusters_combined(placement: Placement) -> int:
    """Return the number of clusters that a job uses."""
    components = placement.components
    if len(components) == 1:
        return 1
    if len(components) == 2:
        return 1 if components[0].cluster == components[1].cluster else 2
    return len(placement.clusters())


class OneFactor:
    """A runtime model in which every job over several clusters takes `factor` times its service time.

    Raises:
        InvalidInput: if the factor is not a positive finite number.
    """

    def __init__(self, factor: float = 1.0) -> None:
        if not (math.isfinite(factor) and factor > 0):
            raise InvalidInput(f"extension factor: must be a positive number, not {factor!r}.")
        self._factor = factor

    def execution_s(self, application: str, placement: Placement, service_s: float) -> float:
        """Return the service time, extended if the job uses several clusters."""
        if self._factor == 1.0 or clusters_combined(placement) == 1:
            return service_s
        return service_s * self._factor

    def of(self, clusters: int) -> float:
        """Return the factor of a job over that number of clusters."""
        return 1.0 if clusters == 1 else self._factor


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """A measurement of an application on a number of processors over a number of clusters.

    The extension factor is `spread` / `single`: two run times, or a factor and 1.
    """

    spread: float
    single: float


class FactorTable:
    """A runtime model with an extension factor for each application, number of processors and number of clusters.

    `times` is keyed by (application, processors, clusters).
    """

    def __init__(self, times: Mapping[tuple[str, int, int], MeasuredTime]) -> None:
        self._times = dict(times)

    def execution_s(self, application: str, placement: Placement, service_s: float) -> float:
        """Return the service time times the factor in the table.

        Raises:
            UnknownName: if the table has no entry for the job's application, size and number of clusters.
        """
        clusters = clusters_combined(placement)
        if clusters == 1:
            return service_s
        processors = 0
        for component in placement.components:
            processors += component.processors
        time = self._times.get((application, processors, clusters))
        if time is None:
            raise _unstated(application, processors, clusters)
        return service_s * time.spread / time.single

    def factor(self, application: str, processors: int, clusters: int) -> float | None:
        """Return the extension factor of such jobs; None if the table has no entry for them."""
        if clusters == 1:
            return 1.0
        time = self._times.get((application, processors, clusters))
        return None if time is None else time.spread / time.single

    def stated_factor(self, application: str, processors: int, clusters: int) -> float:
        """Return the extension factor of such jobs.

        Raises:
            UnknownName: if the table has no entry for them.
        """
        found = self.factor(application, processors, clusters)
        if found is None:
            raise _unstated(application, processors, clusters)
        return found

    @property
    def digest(self) -> str:
        """A digest of all entries, which tells tables apart."""
        entries = sorted((key, time.spread, time.single) for key, time in self._times.items())
        return hashlib.sha256(repr(entries).encode()).hexdigest()[:16]


def _unstated(application: str, processors: int, clusters: int) -> UnknownName:
    named = repr(application) if application else "a job that names no application"
    return UnknownName(
        f"The extension factors say nothing of {named} on {processors} processors over {clusters} clusters: "
        "measure it, or give one factor for all jobs."
    )


class Preparation:
    """The delay between placement and start, while processors are held: gatekeepers, overhead, then file transfer.

    Each cluster's gatekeeper serves components one at a time, `gatekeeper_s` each, in the order of their placement; a
    job's overhead begins when the last of its components has been served.

    Raises:
        InvalidInput: if a time is negative or not finite.
    """

    def __init__(self, base_s: float = 0.0, per_component_s: float = 0.0, gatekeeper_s: float = 0.0) -> None:
        stated = (("base_s", base_s), ("per_component_s", per_component_s), ("gatekeeper_s", gatekeeper_s))
        for name, value_s in stated:
            if not (math.isfinite(value_s) and value_s >= 0):
                raise InvalidInput(f"middleware: {name} must be a number of seconds, zero or more, not {value_s!r}.")
        self._base_s = base_s
        self._per_component_s = per_component_s
        self._gatekeeper_s = gatekeeper_s
        self._free_s: dict[int, float] = {}

    def delay_s(self, placement: Placement, time_s: float) -> float:
        """Return the seconds from the placement at `time_s` to the start; call it in the order of the placements."""
        return self.overhead_s(placement, time_s) + placement.transfer_s

    def overhead_s(self, placement: Placement, time_s: float) -> float:
        """Return the seconds that the middleware takes from `time_s` on; call it in the order of the timestamps."""
        overhead_s = self._base_s + self._per_component_s * len(placement.components)
        if self._gatekeeper_s > 0.0:
            overhead_s += self._served_s(placement, time_s) - time_s
        return overhead_s

    def _served_s(self, placement: Placement, time_s: float) -> float:
        """Have every component served at its cluster's head, and return when the last one is."""
        last_s = time_s
        for component in placement.components:
            cluster = component.cluster
            free_s = max(time_s, self._free_s.get(cluster, 0.0)) + self._gatekeeper_s
            self._free_s[cluster] = free_s
            last_s = max(last_s, free_s)
        return last_s
