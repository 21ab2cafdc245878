"""The costs of a host from a probe: each value is a difference or a quotient of two measurements."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import psutil

from apps.registry import all_updates, largest_share
from emulator.model.processor import REFERENCE_APPLICATION
from emulator.model.units import NANOSECONDS_PER_SECOND
from emulator.model.views import JobView
from emulator.planning.costs import (
    FallingBehind,
    HostCosts,
    KernelCost,
    MessageCost,
    MessagesOver,
    Overshoots,
    Readiness,
    RouterCost,
    StartCost,
)
from emulator.planning.host_probe import USUAL_DILATION, Probe, ProbeJob
from emulator.planning.planned_jobs import planned_job
from emulator.planning.predicted_jobs import PlannedJob, turns_share
from emulator.runs.surroundings import host_now

_PAIR: Final = 2
"""Over so many clusters the costs of messages are those of the wide area; over more they are taken to be the same."""

_SUMMED: Final = ("iterations", "phases", "late_phases", "host_cpu_s", "host_kernel_cpu_s", "host_critical_lateness_s")
"""What a job's record counts over all its iterations."""

_SAMPLED_OFTEN: Final = 100
"""Iterations from which on the kernel's sampled CPU is a mean, and not that of a first run on cold caches."""


def host_costs_from(probe: Probe, fingerprint: str, load: float) -> HostCosts:
    """Return the costs that `probe` shows, measured when the host had this `load`."""
    readings = [_Reading(probe, trial, jobs) for trial, jobs in probe.jobs.items()]
    ranks = max(trial.ranks for trial in probe.jobs)
    costs = HostCosts(
        fingerprint=fingerprint,
        measured_at=host_now(),
        load=load,
        cores=psutil.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        kernels=tuple(_kernels(readings)),
        messages=tuple(_messages(readings)),
        overshoots=tuple(
            _overshoots(reading)
            for reading in readings
            if reading.is_reference
            and reading.planned.waking
            and reading.trial.dilation == USUAL_DILATION
            and not reading.is_widely_spread
        ),
        readiness=tuple(
            _readiness(reading)
            for reading in readings
            if reading.is_reference and reading.trial.over is not MessagesOver.INTERCONNECT
        ),
        falling_behind=(),
        start=_start(readings),
        router=_router(probe, readings),
        rank_bytes=max(1, (probe.busy_bytes - probe.cluster_idle_bytes) // ranks),
        cluster_bytes=max(1, probe.idle_bytes // len(probe.topology.clusters)),
        record_bytes=max(1, probe.record_bytes),
    )
    behind = [
        _falling_behind(reading, costs) for reading in readings if reading.trial.over is MessagesOver.INTERCONNECT
    ]
    return costs.model_copy(update={"falling_behind": tuple(behind)})


class _Reading:
    """One trial's jobs, all rounds together, as they ran and as the planner knows them."""

    def __init__(self, probe: Probe, trial: ProbeJob, jobs: Sequence[JobView]) -> None:
        self.trial, self.jobs = trial, jobs
        self.result: dict[str, Any] = _added_up([job.result or {} for job in jobs])
        specification = trial.specification(probe.topology.cluster_names)
        parts = list(zip(specification.clusters, specification.components, strict=True))
        self.planned: PlannedJob = planned_job(specification, parts, probe.topology)

    @property
    def is_reference(self) -> bool:
        return self.trial.application == REFERENCE_APPLICATION

    @property
    def is_widely_spread(self) -> bool:
        """Over more than a pair of clusters, of which only the readiness of ranks is asked."""
        return self.trial.clusters > _PAIR

    @property
    def points(self) -> int:
        """Of the block of the rank that has most of them."""
        return largest_share(self.trial.application, self.trial.grid, self.trial.ranks).points

    @property
    def host_phase_s(self) -> float:
        return self.trial.dilation.host_duration_s(self.planned.phase_s or 0.0)

    @property
    def updates(self) -> float:
        """All grid-point updates of the job."""
        return float(self.result["iterations"] * all_updates(self.trial.application, self.trial.grid))

    @property
    def sampled_often(self) -> bool:
        # A day of Ensflow is so many steps that one is a mean.
        return self.result["iterations"] >= _SAMPLED_OFTEN or self.planned.sweeps > 1

    def rank_iterations(self) -> float:
        """Return how many iterations all ranks made together."""
        return float(self.trial.ranks * self.result["iterations"])

    def message_cpu_s(self) -> float:
        """CPU of a rank in an iteration, its kernels' taken off."""
        host_cpu_s = float(self.result["host_cpu_s"]) - float(self.result["host_kernel_cpu_s"])
        return max(0.0, host_cpu_s) / self.rank_iterations()

    def message_time_s(self) -> float:
        """Host seconds of an iteration beyond its phases; in one cluster, where nothing else is emulated."""
        planned = self.planned
        expected_s = planned.phases * (planned.phase_s or 0.0)
        return max(0.0, self.trial.dilation.host_duration_s(self.result["iteration_s"] - expected_s))

    def kernel_s(self) -> float:
        """Host seconds of CPU that a rank's kernels took in a phase."""
        return max(1e-9, float(self.result["host_kernel_cpu_s"]) / self.rank_iterations() / self.planned.phases)

    def core_share(self) -> float:
        """What the job used of all cores while it iterated."""
        host_duration_s = self.trial.dilation.host_duration_s(self.result["iteration_s"] * self.result["iterations"])
        return max(1e-6, float(self.result["host_cpu_s"]) / host_duration_s / (psutil.cpu_count() or 1))

    def start_s(self) -> float:
        """Host seconds from the claimed processors to ranks that iterate."""
        starts_s = [(job.started_s or 0.0) - (job.claimed_s or 0.0) for job in self.jobs]
        return self.trial.dilation.host_duration_s(statistics.fmean(starts_s))


def _added_up(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the results of equal jobs as if one had made all their iterations."""
    added = {key: sum(result[key] for result in results) for key in _SUMMED}
    phases = [sum(counts) for counts in zip(*(result["overshoots"]["phases"] for result in results), strict=True)]
    iteration_s = statistics.fmean(result["iteration_s"] for result in results)
    overshoots = {**results[0]["overshoots"], "phases": phases}
    return {**results[0], **added, "iteration_s": iteration_s, "overshoots": overshoots}


def _kernels(readings: Sequence[_Reading]) -> list[KernelCost]:
    found = []
    for reading in readings:
        if reading.trial.over is not MessagesOver.SHARED_MEMORY:
            continue
        if reading.sampled_often:
            host_cpu_s = reading.result["host_kernel_cpu_s"]
        else:
            host_cpu_s = (
                reading.result["host_cpu_s"] - _like(reading, readings).message_cpu_s() * reading.rank_iterations()
            )
        found.append(
            KernelCost(
                application=reading.trial.application,
                points=reading.points,
                host_ns_per_point=host_cpu_s * NANOSECONDS_PER_SECOND / reading.updates,
            )
        )
    # Of equal blocks the cheapest: the others' ranks found colder caches.
    cheapest: dict[tuple[str, int], KernelCost] = {}
    for cost in sorted(found, key=lambda cost: -cost.host_ns_per_point):
        cheapest[cost.application, round(cost.points, -3)] = cost
    return list(cheapest.values())


def _like(reading: _Reading, readings: Sequence[_Reading]) -> _Reading:
    """Return the same job on a grid whose kernel was sampled often."""
    trial = reading.trial
    return next(
        other
        for other in readings
        if other.sampled_often
        and (other.trial.application, other.trial.ranks, other.trial.over)
        == (trial.application, trial.ranks, trial.over)
    )


def _messages(readings: Sequence[_Reading]) -> list[MessageCost]:
    """Of each application, number of ranks and way once: after phases of the usual length."""
    alike = [
        reading for reading in readings if reading.trial.dilation == USUAL_DILATION and not reading.is_widely_spread
    ]
    usual_s = statistics.median(reading.host_phase_s for reading in alike if reading.is_reference)
    usual = [reading for reading in alike if 0.3 < reading.host_phase_s / usual_s < 3.0]
    own_time_s = {MessagesOver.INTERCONNECT: 0.0, MessagesOver.WIDE_AREA: _wide_area_time_s(readings)}
    # Over the wide area paced messages inside the clusters come last, and stay: all that is shipped paces them.
    chosen = {_key(reading): reading for reading in sorted(usual, key=lambda reading: reading.trial.paced)}
    never_waiting = _never_waiting(readings)
    return [
        MessageCost(
            application=reading.trial.application,
            ranks=reading.trial.ranks,
            over=reading.trial.over,
            host_cpu_s=reading.message_cpu_s(),
            host_time_s=own_time_s[reading.trial.over]
            if reading.trial.over in own_time_s
            else reading.message_time_s(),
            host_least_cpu_s=reading.message_cpu_s() * never_waiting.get(reading.trial.over, 1.0),
        )
        for reading in chosen.values()
    ]


def _at_both(readings: Sequence[_Reading], over: MessagesOver) -> tuple[_Reading, _Reading]:
    """Return the trial that was run at the smaller and at the usual dilation."""
    smaller = next(
        reading for reading in readings if reading.trial.dilation != USUAL_DILATION and reading.trial.over is over
    )
    alike = replace(smaller.trial, dilation=USUAL_DILATION)
    usual = next(reading for reading in readings if replace(reading.trial, iterations=alike.iterations) == alike)
    return smaller, usual


def _wide_area_time_s(readings: Sequence[_Reading]) -> float:
    """Host seconds of an iteration over the wide area that do not dilate: by what its time differs at two dilations."""
    smaller, usual = _at_both(readings, MessagesOver.WIDE_AREA)
    longer_s = float(smaller.result["iteration_s"]) - float(usual.result["iteration_s"])
    return max(0.0, longer_s / (1.0 / smaller.trial.dilation.factor - 1.0 / usual.trial.dilation.factor))


def _never_waiting(readings: Sequence[_Reading]) -> dict[MessagesOver, float]:
    """What messages take of ranks that hardly ever wait, relative to what they take of those that do."""
    smaller, usual = _at_both(readings, MessagesOver.INTERCONNECT)
    return {MessagesOver.INTERCONNECT: min(1.0, smaller.message_cpu_s() / usual.message_cpu_s())}


def _key(reading: _Reading) -> tuple[str, int, MessagesOver]:
    return reading.trial.application, reading.trial.ranks, reading.trial.over


def _overshoots(reading: _Reading) -> Overshoots:
    """Return the overshoots of the ranks that wake; the others' are all in the first class."""
    edges_s, counts = reading.result["overshoots"]["host_edges_s"], list(reading.result["overshoots"]["phases"])
    planned = reading.planned
    counts[0] = max(0, counts[0] - round(sum(counts) * (1.0 - planned.waking / planned.processors)))
    phases = max(1, sum(counts))
    # The middle of each class; nothing is known beyond the last edge but that it is beyond.
    middles_s = [edges_s[0] / 2, *((low + high) / 2 for low, high in pairwise(edges_s)), edges_s[-1]]
    mean_s = sum(count * middle_s for count, middle_s in zip(counts, middles_s, strict=True)) / phases
    return Overshoots(
        together=planned.together,
        over=reading.trial.over,
        host_kernel_s=reading.kernel_s(),
        host_mean_s=mean_s,
        host_latest_s=reading.result["host_critical_lateness_s"] / reading.result["iterations"],
    )


def _readiness(reading: _Reading) -> Readiness:
    """When ranks were ready, from how far past their ends phases ended: earlier than at its end none shows."""
    edges_s, counts = reading.result["overshoots"]["host_edges_s"], reading.result["overshoots"]["phases"]
    phases = max(1, sum(counts))
    return Readiness(
        ranks=reading.trial.ranks,
        over=reading.trial.over,
        clusters=reading.trial.clusters,
        host_kernel_s=reading.kernel_s(),
        core_share=reading.core_share(),
        host_edges_s=tuple(reading.host_phase_s + edge_s for edge_s in edges_s),
        beyond=tuple(sum(counts[index + 1 :]) / phases for index in range(len(edges_s))),
    )


def _falling_behind(reading: _Reading, costs: HostCosts) -> FallingBehind:
    return FallingBehind(
        turns_share=turns_share(reading.planned, reading.trial.dilation, costs),
        late_phase_share=reading.result["late_phases"] / reading.result["phases"],
    )


def _start(readings: Sequence[_Reading]) -> StartCost:
    """Return the line through the starting times of all jobs in one cluster."""
    alone = [reading for reading in readings if reading.trial.over is not MessagesOver.WIDE_AREA]
    line = statistics.linear_regression(
        [reading.trial.ranks for reading in alone], [reading.start_s() for reading in alone]
    )
    return StartCost(host_base_s=max(0.0, line.intercept), host_rank_s=max(0.0, line.slope))


def _router(probe: Probe, readings: Sequence[_Reading]) -> RouterCost:
    """A packet's cost, and packets for each that the model counts: of jobs that cross it, less what others need."""
    idle = _RouterWork.of(probe, [reading for reading in readings if reading.trial.over is not MessagesOver.WIDE_AREA])
    crossing = [reading for reading in readings if reading.trial.over is MessagesOver.WIDE_AREA]
    busy = _RouterWork.of(probe, crossing)
    host_cpu_s = busy.host_cpu_s - idle.host_cpu_s * busy.host_duration_s / idle.host_duration_s
    packets = busy.packets - idle.packets * busy.host_duration_s / idle.host_duration_s
    counted = sum(reading.planned.segments * reading.result["iterations"] for reading in crossing)
    return RouterCost(
        backend=probe.router_backend,
        host_cpu_s_per_packet=max(0.0, host_cpu_s / packets) if packets > 0 else 0.0,
        packets_per_segment=max(1.0, packets / counted),
    )


@dataclass(frozen=True, slots=True)
class _RouterWork:
    """What the router did while some jobs ran."""

    host_duration_s: float
    host_cpu_s: float
    packets: float

    @classmethod
    def of(cls, probe: Probe, readings: Sequence[_Reading]) -> _RouterWork:
        looks = [look for reading in readings for look in probe.router[reading.trial]]
        return cls(
            sum(after.host_moment_s - before.host_moment_s for before, after in looks),
            sum(after.host_cpu_s - before.host_cpu_s for before, after in looks),
            float(sum(after.packets - before.packets for before, after in looks)),
        )
