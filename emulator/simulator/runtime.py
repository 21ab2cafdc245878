"""How long a job runs where it was placed: models behind one protocol, and what precedes the run.

A job brings its service time, the time it takes in a single cluster (net); a model says what it takes where it is
(gross). Spreading is counted in clusters: a job whose components all came to lie in one cluster is not extended.

    OneFactor        the same extension factor for every job over several clusters (SP, section 4)
    FactorTable      a factor by application, processors and clusters, measured or published (MB, Tables 4 and 5)
    Preparation      the middleware's overhead and the transfer of files, between placement and start

A model whose jobs slow each other down is a `SharedRuntime`; the one we have is in ``shared_links``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.placement import Placement


class RuntimeModel(Protocol):
    """How long jobs run."""

    def execution_s(self, application: str, placement: Placement, service_s: float) -> float:
        """Seconds from start to finish of a job of `service_s` in a single cluster, placed so, if nothing disturbs."""
        ...


class SharedRuntime(RuntimeModel, Protocol):
    """How long jobs run that slow each other down: each start and end may move the ends of others."""

    def begin(self, job: int, application: str, placement: Placement, service_s: float, time_s: float) -> None:
        """Job number `job` starts."""
        ...

    def end(self, job: int, time_s: float) -> None:
        """Job number `job` ends."""
        ...

    def moved(self) -> Sequence[tuple[int, float]]:
        """Jobs whose expected end has changed since the last call, each with the moment that is now expected."""
        ...


def clusters_combined(placement: Placement) -> int:
    """How many clusters a job lies in."""
    components = placement.components
    if len(components) == 1:
        return 1
    if len(components) == 2:
        return 1 if components[0].cluster == components[1].cluster else 2
    return len(placement.clusters())


class OneFactor:
    """Every job over several clusters takes `factor` times its service time, however many they are.

    Raises:
        InvalidInput: if the factor is not a positive finite number.
    """

    def __init__(self, factor: float = 1.0) -> None:
        if not (math.isfinite(factor) and factor > 0):
            raise InvalidInput(f"extension factor: must be a positive number, not {factor!r}.")
        self._factor = factor

    def execution_s(self, application: str, placement: Placement, service_s: float) -> float:
        """The service time, extended if the job lies in several clusters."""
        if self._factor == 1.0 or clusters_combined(placement) == 1:
            return service_s
        return service_s * self._factor


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """What was measured of an application on so many processors over so many clusters.

    Either a run time, which is a factor only beside the one of a single cluster, or a factor against 1.
    """

    spread: float
    single: float


class FactorTable:
    """Jobs over several clusters are extended as the table says for their application, processors and clusters.

    `times` is keyed by (application, processors, clusters).
    """

    def __init__(self, times: Mapping[tuple[str, int, int], MeasuredTime]) -> None:
        self._times = dict(times)

    def execution_s(self, application: str, placement: Placement, service_s: float) -> float:
        """The service time times the factor of the table.

        Raises:
            UnknownName: if the table lacks the job's application, size and number of clusters.
        """
        clusters = clusters_combined(placement)
        if clusters == 1:
            return service_s
        processors = 0
        for component in placement.components:
            processors += component.processors
        time = self._times.get((application, processors, clusters))
        if time is None:
            raise UnknownName(
                f"The extension factors say nothing of {application!r} on {processors} processors over {clusters} "
                "clusters: measure it, or give one factor for all jobs."
            )
        return service_s * time.spread / time.single


class Preparation:
    """What lies between placement and start, the processors being held: middleware overhead, then the input file.

    Raises:
        InvalidInput: if a time is negative or not finite.
    """

    def __init__(self, base_s: float = 0.0, per_component_s: float = 0.0) -> None:
        for name, value_s in (("base_s", base_s), ("per_component_s", per_component_s)):
            if not (math.isfinite(value_s) and value_s >= 0):
                raise InvalidInput(f"middleware: {name} must be a number of seconds, zero or more, not {value_s!r}.")
        self._base_s = base_s
        self._per_component_s = per_component_s

    def delay_s(self, placement: Placement) -> float:
        """Seconds from placement to start."""
        overhead_s = self._base_s + self._per_component_s * len(placement.components)
        return overhead_s + placement.transfer_s
