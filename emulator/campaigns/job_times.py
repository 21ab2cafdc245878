"""The execution times of simulated jobs whose application is known: measured where that was done, else by the model.

A job's time at its placement is its time in one cluster times an extension factor. Both are taken, in this order, from
the job's own live run (the mean of its problem over the same parts), from a table of measured factors, and from the
model of `testbed predict`. What each time came from is kept, for the record.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from apps.registry import application_named
from emulator.fidelity.iteration.alone import job_alone
from emulator.fidelity.iteration.remembered import Iterations, JobOver, iterations_on
from emulator.model.errors import InvalidInput
from emulator.model.held_nodes import ranks
from emulator.model.job import OWN, PLAIN, JobSpecification, JobState
from emulator.model.placement import Component, Placement
from emulator.model.records import ComponentRow, ExecutionTimeRow, JobRow
from emulator.model.request import JobRequest, RequestKind
from emulator.model.times import TimeSource
from emulator.model.topology import Topology
from emulator.planning.planned_jobs import planned_job
from emulator.simulator.runtime import FactorTable, OneFactor, clusters_combined

LEAST_SERVICE_S: Final = 1e-3
"""The shortest execution time that the model may predict."""

Parts = tuple[tuple[str, int], ...]
"""The clusters of a job and its processors in each, in the order of its ranks: a cluster's components are together."""

Problem = tuple[str, str]
"""An application, and as JSON everything else that a job's time depends on, except its processors."""

Shape = tuple[int, ...]
"""The processors of a job in each of its clusters, in falling order."""


@dataclass(slots=True)
class _Use:
    """The use of one configuration's time: its value, and how often it was used."""

    grid: int | None
    factor: float | None
    ends: tuple[float, float] | None
    source: TimeSource
    in_table: bool = False
    jobs: int = 0
    execution_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Factor:
    """An extension factor: its value, where it comes from, and its 95% interval if that is known.

    `in_table` tells whether a table of factors holds it, for a job over several clusters.
    """

    value: float
    source: TimeSource
    ends: tuple[float, float] | None = None
    in_table: bool = False


@dataclass(frozen=True)
class JobTimes:
    """A runtime model of the jobs with `specifications`, by their number, on `topology`.

    If it is `stated`, the workload states the jobs' times in one cluster; else they are predicted. `table` holds
    measured factors, and `factor` is one that was given for all jobs. `measured_s` holds measured execution times by
    problem and shape.
    """

    topology: Topology
    specifications: Mapping[int, JobSpecification]
    stated: bool = False
    table: FactorTable | None = None
    factor: OneFactor | None = None
    measured_s: Mapping[tuple[Problem, Shape], float] = field(default_factory=dict)
    _services_s: dict[tuple[Problem, int], float] = field(default_factory=dict, repr=False)
    _uses: dict[tuple[Problem, Parts], _Use] = field(default_factory=dict, repr=False)
    _last_use: dict[int, tuple[_Use, float]] = field(default_factory=dict, repr=False)

    def service_s(self, specification: JobSpecification) -> float:
        """Return the time of a job in one cluster: measured, else by the model.

        Raises:
            InvalidInput: if nothing is known of the processors, or the application refuses the problem.
        """
        key = problem_of(specification), sum(specification.components)
        if key not in self._services_s:
            self._services_s[key] = self._measured_service_s(*key) or self._predicted_service_s(specification)
        return self._services_s[key]

    def _measured_service_s(self, problem: Problem, processors: int) -> float | None:
        """Return the measured time of a problem in one cluster, or, if no model knows it, over any clusters."""
        in_one = self.measured_s.get((problem, (processors,)))
        if in_one is not None or is_modelled(problem[0], self.topology):
            return in_one
        of_any = [
            time_s for (of, shape), time_s in self.measured_s.items() if of == problem and sum(shape) == processors
        ]
        return sum(of_any) / len(of_any) if of_any else None

    def _predicted_service_s(self, specification: JobSpecification) -> float:
        self._check_known(specification)
        processors = sum(specification.components)
        whole = planned_job(specification, [(self._largest, processors)], self.topology)
        alone = self._in_one_cluster(specification, processors)
        return max(LEAST_SERVICE_S, whole.runtime_s if alone is None else alone.execution_s(whole.iterations))

    def execution_of_s(self, job: int, placement: Placement, service_s: float) -> float:
        """Return the execution time of job number `job` at `placement`."""
        specification = self.specifications[job]
        problem, parts = problem_of(specification), self._parts(placement)
        measured_s = self.measured_s.get((problem, shape_of(parts)))
        if measured_s is not None:
            factor = Factor(1.0, TimeSource.MEASURED)
            execution_s = measured_s
        else:
            factor = self._factor(specification, parts, clusters_combined(placement), service_s)
            execution_s = service_s * factor.value
        used = self._use(problem, parts, specification, None if measured_s is not None else factor)
        self._note(job, used, execution_s)
        return execution_s

    def rows(self) -> list[ExecutionTimeRow]:
        """Return what the times were that the simulation used until now, and where they come from."""
        return [
            ExecutionTimeRow(
                application=problem[0], grid=use.grid, processors=sum(size for _, size in parts),
                components=tuple(size for _, size in parts), execution_clusters=tuple(name for name, _ in parts),
                clusters=len({name for name, _ in parts}), execution_s=use.execution_s / use.jobs,
                extension_factor=use.factor, low=None if use.ends is None else use.ends[0],
                high=None if use.ends is None else use.ends[1], source=use.source.value, jobs=use.jobs,
            )
            for (problem, parts), use in sorted(self._uses.items())
            if use.jobs
        ]  # fmt: skip

    def jobs_by_source(self) -> dict[str, int]:
        """Return the number of jobs by where their execution time came from."""
        return {
            source.value: jobs
            for source in TimeSource
            if (jobs := sum(use.jobs for use in self._uses.values() if use.source is source))
        }

    def jobs_in_table(self) -> int:
        """Return the number of jobs over several clusters whose extension factor the table held."""
        return sum(use.jobs for use in self._uses.values() if use.in_table)

    def assumed_lengths(self) -> tuple[str, ...]:
        """Return the applications whose jobs do not state how long they run, so that a length is assumed."""
        if self.stated:
            return ()
        return tuple(sorted({each.application for each in self.specifications.values() if _states_no_length(each)}))

    @cached_property
    def _iterations(self) -> Iterations:
        return iterations_on(self.topology)

    @cached_property
    def _largest(self) -> str:
        return max(self.topology.clusters, key=lambda cluster: cluster.processors).name

    def _parts(self, placement: Placement) -> Parts:
        names = self.topology.clusters
        return tuple((names[cluster].name, processors) for cluster, processors in placement.by_cluster().items())

    def _factor(self, specification: JobSpecification, parts: Parts, clusters: int, service_s: float) -> Factor:
        processors = sum(size for _, size in parts)
        in_table = None if self.table is None else self.table.factor(specification.application, processors, clusters)
        if clusters == 1 and self.stated:
            return Factor(1.0, TimeSource.STATED)
        if self.factor is not None:
            return Factor(self.factor.of(clusters), TimeSource.STATED if self.stated else TimeSource.PREDICTED)
        if in_table is not None:
            source = TimeSource.MEASURED if self.stated else TimeSource.PREDICTED
            return Factor(in_table, source, in_table=clusters > 1)
        return self._predicted_factor(specification, parts, service_s)

    def _predicted_factor(self, specification: JobSpecification, parts: Parts, service_s: float) -> Factor:
        """Return the factor of a job that takes `service_s` in one cluster: its iterations, and what it passes on."""
        self._check_known(specification)
        alone = self._in_one_cluster(specification, sum(size for _, size in parts))
        if alone is None:
            return Factor(1.0, TimeSource.PREDICTED)
        here = self._iterations.over(
            specification.application, specification.arguments, parts, specification.interconnect,
            specification.processor_speed,
        )  # fmt: skip
        iterations = _iterations_within(service_s, alone)
        value = here.execution_s(iterations) / alone.execution_s(iterations)
        uncertainty = self.topology.uncertainty
        ends = None if uncertainty is None else uncertainty.factor.interval(value, here.computing_share)
        return Factor(value, TimeSource.PREDICTED, ends)

    def _in_one_cluster(self, specification: JobSpecification, processors: int) -> JobOver | None:
        return job_alone(
            self._iterations, specification.application, specification.arguments, processors,
            specification.processor_speed,
        )  # fmt: skip

    def _check_known(self, specification: JobSpecification) -> None:
        """Raise `InvalidInput` if the model knows nothing of such a job on this topology."""
        if specification.command:
            raise InvalidInput(
                f"Job {specification.name!r} runs a program of its own, whose execution time no model knows: "
                f"{self._remedy}."
            )
        if self.topology.processor.costs is None:
            raise InvalidInput(
                f"{self.topology.name}: its processors are unpaced, so no model knows execution times there: "
                f"{self._remedy}."
            )

    @property
    def _remedy(self) -> str:
        """What to do where no model knows the time of a job in one cluster, or if that is stated, its factor."""
        if self.stated:
            return "measure the extension factors that the table lacks, or give one factor for all jobs"
        return (
            "state service_s in the campaign, or take the times of a live run in which such jobs finished "
            "(--like RUN --times run)"
        )

    def _use(self, problem: Problem, parts: Parts, specification: JobSpecification, factor: Factor | None) -> _Use:
        use = self._uses.get((problem, parts))
        if use is None:
            grid = specification.arguments.get("grid")
            use = self._uses[problem, parts] = _Use(
                grid if isinstance(grid, int) else None,
                None if factor is None else factor.value,
                None if factor is None else factor.ends,
                TimeSource.MEASURED if factor is None else factor.source,
                factor is not None and factor.in_table,
            )
        return use

    def _note(self, job: int, use: _Use, execution_s: float) -> None:
        """Count the job there; one that is placed again counts where it is placed last."""
        if job in self._last_use:
            before, before_s = self._last_use[job]
            before.jobs -= 1
            before.execution_s -= before_s
        self._last_use[job] = use, execution_s
        use.jobs += 1
        use.execution_s += execution_s


def is_modelled(application: str, topology: Topology) -> bool:
    """Return whether the model knows how long jobs of this `application` take on `topology`."""
    return topology.processor.costs is not None and application not in (PLAIN, OWN)


def problem_of(specification: JobSpecification) -> Problem:
    """Return what the execution time of a job depends on, except its placement."""
    stated = {"arguments": dict(specification.arguments), "processor_speed": specification.processor_speed}
    if specification.command:
        stated["command"] = specification.command
    return specification.application, json.dumps(stated, sort_keys=True)


def shape_of(parts: Iterable[tuple[str, int]]) -> Shape:
    """Return the processors in each cluster, in falling order."""
    held: dict[str, int] = {}
    for name, size in parts:
        held[name] = held.get(name, 0) + size
    return tuple(sorted(held.values(), reverse=True))


def measured_times(
    jobs: Sequence[JobRow],
    components: Sequence[ComponentRow],
    specifications: Mapping[str, JobSpecification],
    topology: Topology,
) -> dict[tuple[Problem, Shape], float]:
    """Return the mean execution time of the finished `jobs` of a run on `topology` by problem and shape.

    `components` are where they ran, `specifications` what was submitted, by the name of the job.
    """
    parts: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for row in components:
        parts[row.job].append((row.cluster, row.processors))
    times_s: dict[tuple[Problem, Shape], list[float]] = defaultdict(list)
    for job in jobs:
        specification = specifications.get(job.name)
        if specification is None or job.state != JobState.FINISHED or job.execution_time_s is None:
            continue
        shape = shape_of(_as_run(parts[job.job], job, specification, topology))
        times_s[problem_of(specification), shape].append(job.execution_time_s)
    return {key: sum(of_shape) / len(of_shape) for key, of_shape in times_s.items()}


def _as_run(
    held: Sequence[tuple[str, int]], job: JobRow, specification: JobSpecification, topology: Topology
) -> Sequence[tuple[str, int]]:
    """Return how many processes of a job ran in each component, of which the record says what it held.

    A simulation takes the jobs of a schedule in the kind that its policy accepts.
    """
    together = topology.processors_taken_together
    if together == 1:
        return held
    placement = Placement(tuple(Component(topology.index(cluster), size) for cluster, size in held))
    request = specification.request_in(topology)
    if job.request == RequestKind.FLEXIBLE and request.kind is not RequestKind.FLEXIBLE:
        request = JobRequest(RequestKind.FLEXIBLE, (request.processors,))
    sizes = ranks(request, placement, together)
    return [(cluster, size) for (cluster, _), size in zip(held, sizes, strict=True)]


def _iterations_within(service_s: float, alone: JobOver) -> float:
    """Return how many iterations, also parts of one, a job makes that takes `service_s` in one cluster.

    A stated time may be too short for what the job passes on once. One iteration is assumed then: without any, the
    factor would say nothing about iterations, and divide by zero for an application that passes nothing on.
    """
    return alone.iterations_in(service_s) or 1.0


def _states_no_length(specification: JobSpecification) -> bool:
    if specification.command:
        return False
    descriptor = application_named(specification.application)
    return descriptor.default_length is None and descriptor.length not in specification.arguments
