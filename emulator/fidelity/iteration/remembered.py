"""Iterations of jobs on a topology, predicted once for all jobs that are alike, in all simulations of a process.

Jobs are alike if they differ only in their length and in clusters that are interchangeable. Thousands of simulated
jobs thus need a few hundred predictions.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from apps.descriptor import Arguments
from apps.registry import application_named
from emulator.fidelity.iteration.once import PassedOnce
from emulator.fidelity.iteration.predicted import ModelJob, Part, predicted
from emulator.model.interconnects import WhichInterconnect
from emulator.model.topology import Cluster, Topology

_TOPOLOGIES: Final = 8
_JOBS: Final = 50_000
"""How many topologies, and how many jobs on each, are remembered."""

_Ends = tuple[str, str]
"""The source and the target of a path."""


@dataclass(frozen=True, slots=True)
class JobOver:
    """A job over certain clusters: the emulated seconds of an iteration, and what is passed on once.

    `computing_share` is the share of computing in an iteration.
    """

    iteration_s: float
    computing_share: float
    once: PassedOnce

    def execution_s(self, iterations: float) -> float:
        """Return the execution time of a job with that number of `iterations`, in emulated seconds."""
        return self.once.takes_s(iterations) + iterations * self.iteration_s

    def iterations_in(self, execution_s: float) -> float:
        """Return how many iterations, also parts of one, the job makes that executes for so long; 0 if too short."""
        settled = self.once.settled_after
        if execution_s >= self.execution_s(settled):
            return settled + (execution_s - self.execution_s(settled)) / self.iteration_s
        whole = bisect_right(range(1, settled), execution_s, key=self.execution_s)
        if whole == 0:
            return max(0.0, (execution_s - self.once.takes_s(1)) / self.iteration_s)
        begin_s, end_s = self.execution_s(whole), self.execution_s(whole + 1)
        return whole + (execution_s - begin_s) / (end_s - begin_s)


class Iterations:
    """The iterations of jobs on `topology`."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self._interchangeable = interchangeable(topology)
        self._predicted = lru_cache(maxsize=_JOBS)(self._predict)

    def over(
        self,
        application: str,
        arguments: Arguments,
        parts: tuple[Part, ...],
        which: WhichInterconnect | None = None,
        processor_speed: float = 1.0,
    ) -> JobOver:
        """Predict an iteration of a job, as `ModelJob` describes it.

        Raises:
            UnknownName: if there is no such application or cluster.
            InvalidInput: if its problem cannot be divided so, or the links of a cluster are unknown.
        """
        descriptor = application_named(application)
        lasting = {name: value for name, value in arguments.items() if name != descriptor.length}
        problem = json.dumps([descriptor.name, lasting, processor_speed], sort_keys=True)
        return self._predicted(problem, self._stand_ins(parts), which)

    def _predict(self, problem: str, parts: tuple[Part, ...], which: WhichInterconnect | None) -> JobOver:
        application, arguments, processor_speed = json.loads(problem)
        stated = arguments.get("grid", 0)
        job = ModelJob(
            application, stated if isinstance(stated, int) else 0, parts, which, arguments=arguments,
            processor_speed=processor_speed,
        )  # fmt: skip
        found = predicted(self.topology, job)
        return JobOver(found.iteration_s, found.computing_share, PassedOnce(self.topology, job))

    def _stand_ins(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """Return `parts` with each cluster replaced by the first of those like it that no other stands for."""
        stand_ins: dict[str, str] = {}
        used: dict[tuple[str, ...], int] = defaultdict(int)
        for name, _ in parts:
            if name not in stand_ins:
                alike = self._interchangeable.get(name, (name,))
                stand_ins[name] = alike[used[alike]]
                used[alike] += 1
        return tuple((stand_ins[name], size) for name, size in parts)


def iterations_on(topology: Topology) -> Iterations:
    """Return the iterations on `topology`, with all that is remembered of an equal one."""
    return _of_text(topology.model_dump_json(by_alias=True))


@lru_cache(maxsize=_TOPOLOGIES)
def _of_text(text: str) -> Iterations:
    return Iterations(Topology.model_validate_json(text))


def interchangeable(topology: Topology) -> dict[str, tuple[str, ...]]:
    """Return, for each cluster, those of which any two could swap their places without changing the wide area."""
    paths = _stated_paths(topology)
    groups: list[list[Cluster]] = []
    for cluster in topology.clusters:
        for group in groups:
            if _could_swap(group[0], cluster, paths):
                group.append(cluster)
                break
        else:
            groups.append([cluster])
    found = [tuple(cluster.name for cluster in group) for group in groups]
    return {name: names for names in found for name in names}


def _stated_paths(topology: Topology) -> dict[str, dict[_Ends, tuple[float, float, float]]]:
    """Return, for each cluster, the paths from and to it that have a link of their own."""
    found: dict[str, dict[_Ends, tuple[float, float, float]]] = defaultdict(dict)
    for link in topology.links:
        path = link.delay_s, link.jitter_s, link.loss
        for ends in [(link.source, link.target)] + [(link.target, link.source)] * (not link.one_way):
            found[ends[0]][ends] = found[ends[1]][ends] = path
    return found


def _could_swap(
    first: Cluster, other: Cluster, paths: Mapping[str, Mapping[_Ends, tuple[float, float, float]]]
) -> bool:
    if first.is_real or other.is_real:
        return False
    if (first.access_link, first.processors_per_node) != (other.access_link, other.processors_per_node):
        return False
    swapped = {first.name: other.name, other.name: first.name}
    of_first = {
        (swapped.get(source, source), swapped.get(target, target)): path
        for (source, target), path in paths.get(first.name, {}).items()
    }
    return of_first == paths.get(other.name, {})
