"""The controller of the background load: which dummy jobs to inject and which to kill, in the present state.

It is pure: the same state and random numbers give the same answer. A driver asks it whenever a job of the background
or of the grid starts or ends. The papers say only when it acts: it injects jobs below the band, and kills jobs above
the band. Here it aims at the middle of the band, so that the next event seldom makes it act again, and it never injects
beyond the band. A driver that needs time to start a job says which dummy jobs end within that time; these no longer
count for the lower end. If no processor is idle for the next dummy job, the job that is ending runs longer instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from numpy.random import Generator

from emulator.model.background import Background, ProcessorBand, Scope
from emulator.model.held_nodes import whole


@dataclass(frozen=True, slots=True)
class DummyJob:
    """A dummy job that runs, or was submitted and will: its number in order of submission, its cluster, its size.

    One that `is_ending` ends before another could take its place if that were submitted only then.
    """

    number: int
    cluster: int
    processors: int
    is_ending: bool = False


@dataclass(frozen=True, slots=True)
class ClusterUse:
    """The use of a cluster: its processors, those that local jobs hold, and those that no job holds or was promised."""

    processors: int
    local: int
    idle: int


@dataclass(frozen=True, slots=True)
class BackgroundState:
    """The state that the controller decides on: each cluster's use, and the dummy jobs that are not being killed."""

    clusters: tuple[ClusterUse, ...]
    dummies: tuple[DummyJob, ...] = ()


class Injection(NamedTuple):
    """A dummy job of `processors` to be submitted to a cluster, where it will hold `held` of them."""

    cluster: int
    processors: int
    length_s: float
    held: int


class Kill(NamedTuple):
    """A dummy job to be killed, by its number."""

    dummy: int


class Prolongation(NamedTuple):
    """A dummy job that is ending, by its number, goes on for `length_s` more: the next dummy job in its place."""

    dummy: int
    length_s: float


Action: TypeAlias = Injection | Prolongation | Kill


class BackgroundController:
    """The controller of one background load, whose jobs take `together` processors at a time."""

    def __init__(self, background: Background, together: int = 1) -> None:
        self._background = background
        self._together = together

    def decide(self, state: BackgroundState, rng: Generator) -> list[Action]:
        """Return the dummy jobs to be injected or prolonged, or those to be killed."""
        plan = _Plan(state)
        band = self._background.of(sum(plan.processors))
        if plan.total > band.most:
            return [*_kills(plan, band)]
        if self._background.scope is Scope.CLUSTER:
            clusters = list(enumerate(plan.processors))
            return [
                action
                for cluster, processors in clusters
                for action in self._raised(plan, [cluster], self._background.of(processors), band.most, rng)
            ]
        return self._raised(plan, range(len(plan.processors)), band, band.most, rng)

    def _raised(
        self, plan: _Plan, clusters: Sequence[int], band: ProcessorBand, most_of_all: int, rng: Generator
    ) -> list[Action]:
        """Return what lifts the load of `clusters` to the middle of their `band`, if it is below the band."""
        held = sum(plan.load[cluster] for cluster in clusters)
        lasting = held - sum(plan.ending[cluster] for cluster in clusters)
        if lasting >= band.least:
            return []
        found: list[Action] = []
        while lasting < max(band.middle, band.least):
            room = min(band.most - held, most_of_all - plan.total)
            injection = self._injection(plan, clusters, room, rng)
            if injection is None:
                break
            plan.add(injection.cluster, injection.held)
            held += injection.held
            lasting += injection.held
            found.append(injection)
        for dummy in plan.dummies:
            if lasting < band.least and dummy.is_ending and dummy.cluster in clusters:
                lasting += dummy.processors
                found.append(Prolongation(dummy.number, self._background.dummy.lengths.of(float(rng.random()))))
        return found

    def _injection(self, plan: _Plan, clusters: Sequence[int], room: int, rng: Generator) -> Injection | None:
        """Return a dummy job to hold at most `room` processors in the cluster of the least load that can hold one."""
        dummy = self._background.dummy
        for cluster in sorted(clusters, key=lambda cluster: plan.load[cluster] / plan.processors[cluster]):
            most = min(room, plan.idle[cluster])
            fitting = [size for size in dummy.sizes if whole(size, self._together) <= most]
            if fitting:
                size = fitting[int(rng.integers(len(fitting)))]
                length_s = dummy.lengths.of(float(rng.random()))
                return Injection(cluster, size, length_s, whole(size, self._together))
        return None


@dataclass
class _Plan:
    """The load, the idle processors and the dummy jobs as the actions so far would leave them."""

    state: BackgroundState
    processors: list[int] = field(init=False)
    load: list[int] = field(init=False)
    ending: list[int] = field(init=False)
    idle: list[int] = field(init=False)
    dummies: list[DummyJob] = field(init=False)

    def __post_init__(self) -> None:
        self.processors = [cluster.processors for cluster in self.state.clusters]
        self.load = [cluster.local for cluster in self.state.clusters]
        self.ending = [0] * len(self.load)
        self.idle = [cluster.idle for cluster in self.state.clusters]
        self.dummies = list(self.state.dummies)
        for dummy in self.dummies:
            self.load[dummy.cluster] += dummy.processors
            if dummy.is_ending:
                self.ending[dummy.cluster] += dummy.processors

    @property
    def total(self) -> int:
        """The processors of the whole background load."""
        return sum(self.load)

    def add(self, cluster: int, processors: int) -> None:
        """Take a dummy job as injected."""
        self.load[cluster] += processors
        self.idle[cluster] -= processors

    def remove(self, dummy: DummyJob) -> None:
        """Take a dummy job as killed."""
        self.dummies.remove(dummy)
        self.load[dummy.cluster] -= dummy.processors


def _kills(plan: _Plan, band: ProcessorBand) -> list[Kill]:
    """Return what brings a load above its `band` down to the middle, or as far as its dummy jobs allow."""
    found: list[Kill] = []
    while plan.total > band.middle and plan.dummies:
        # One whose end leaves the load in the band, from the cluster of the highest load, the youngest first.
        harmless = [dummy for dummy in plan.dummies if plan.total - dummy.processors >= band.least]
        if harmless:
            chosen = max(
                harmless, key=lambda dummy: (plan.load[dummy.cluster] / plan.processors[dummy.cluster], dummy.number)
            )
        elif plan.total > band.most:
            chosen = min(plan.dummies, key=lambda dummy: (dummy.processors, -dummy.number))
        else:
            break
        plan.remove(chosen)
        found.append(Kill(chosen.number))
    return found
