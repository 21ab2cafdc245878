"""What a job's execution needs, made of the run's request, the job's specification and its placement.

All methods run on the broker's loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from emulator.broker.files.replicas import Replicas
from emulator.broker.files.transfers import FileArrived
from emulator.broker.jobs.execution import LaunchSpec, NoPreparation, Preparation
from emulator.broker.jobs.gatekeepers import Gatekeepers, JobSubmission
from emulator.broker.jobs.mpi_runner import MpiRunner
from emulator.broker.jobs.outputs import Outputs
from emulator.broker.jobs.own_program import OwnProgram
from emulator.broker.jobs.plain_runner import PlainRunner
from emulator.broker.jobs.rank_command import clocks_ahead, command_line, shared_nodes
from emulator.broker.jobs.ranks import ApplicationRanks, OwnRanks, Ranks
from emulator.broker.jobs.runner import Runner
from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.runs import Run
from emulator.clusters.protocol import Part
from emulator.model.clock import EmulatedClock
from emulator.model.errors import TestbedNotUp
from emulator.model.held_nodes import ranked
from emulator.model.job import JobKind, Placement
from emulator.model.settings import BrokerSettings
from emulator.model.topology import Middleware, Topology

START_HOST_S: Final = 1.0
"""Host seconds by which the limit of a job's start grows with each of its processors."""


class LaunchSpecBuilder:
    """A builder of launch specs for placed jobs; input files come from `replicas`, output goes to `outputs`.

    `on_file_arrived` is called with every successful transfer for a job.
    """

    def __init__(
        self,
        topology: Topology,
        settings: BrokerSettings,
        replicas: Replicas,
        outputs: Outputs,
        on_file_arrived: Callable[[Run, LiveJob, FileArrived], None],
    ) -> None:
        self._topology = topology
        self._settings = settings
        self._replicas = replicas
        self._outputs = outputs
        self._on_file_arrived = on_file_arrived
        self._gatekeepers = Gatekeepers(topology.cluster_names)

    def build(self, run: Run, job: LiveJob) -> LaunchSpec:
        """Build the launch spec of `job`, and order its input file to the clusters that lack it.

        Raises:
            TestbedNotUp: if the job is not placed.
            UnknownName: if there is no such input file.
        """
        placement, procedure = job.placement, job.claiming
        if run.clock is None or placement is None or procedure is None:
            raise TestbedNotUp(f"Run {run.id} is {run.state.value}, and job {job.id} of it is not placed.")
        label = f"{run.id}-{job.id}"
        return LaunchSpec(
            label=label,
            placement=placement,
            procedure=procedure,
            runner=self._runner(run, job, label),
            clock=run.clock,
            run_time_limit_s=job.specification.run_time_limit_s,
            host_grant_limit_s=self._settings.grants_within_host_s,
            host_start_limit_s=self._settings.host_start_limit_s + START_HOST_S * job.request.processors,
            overhead_s=self._overhead_s(run, placement),
            preparation=self._preparation(run, job, placement),
            submission=self._submission(run, run.clock, placement),
            memory_mb=job.specification.memory_mb,
            clocks_ahead_s=run.request.host_clocks_ahead_s,
            ranks=ranked(job.request, placement, self._topology.processors_taken_together).by_cluster(),
        )

    def _preparation(self, run: Run, job: LiveJob, placement: Placement) -> Preparation:
        """Order the job's input file to every cluster of the placement that lacks it."""
        if job.request.file is None:
            return NoPreparation()
        names = self._topology.cluster_names
        clusters = [component.cluster for component in placement.components]
        # A policy that ignores files names no file sites; the file then comes from any of its replicas.
        sites = zip(clusters, placement.file_sites or clusters, strict=True)
        sources = {names[cluster]: names[site] for cluster, site in sites}
        on_arrived = partial(self._on_file_arrived, run, job)
        ahead_s = run.request.host_clocks_ahead_s
        return self._replicas.deliver(job.id, job.request.file, sources, run.dilation, on_arrived, ahead_s)

    def _runner(self, run: Run, job: LiveJob, label: str) -> Runner:
        output = self._outputs.open(job.id)
        program = OwnProgram(label, job.specification.command, run.dilation.factor)
        if job.specification.kind is JobKind.PLAIN:
            return PlainRunner(program, output)
        ranks: Ranks = ApplicationRanks(partial(self._command, run, job), output)
        if job.specification.command:
            ranks = OwnRanks(program, output)
        return MpiRunner(label, ranks, self._settings, output)

    def _overhead_s(self, run: Run, placement: Placement) -> float | None:
        """Return the middleware's overhead for the components as placed: a flexible request states one only."""
        middleware = self._middleware(run)
        return None if middleware is None else middleware.overhead_s(len(placement.components))

    def _submission(self, run: Run, clock: EmulatedClock, placement: Placement) -> JobSubmission | None:
        """Return the submission to the heads' gatekeepers; None if they take no time."""
        middleware = self._middleware(run)
        if middleware is None or middleware.gatekeeper_s <= 0:
            return None
        names = self._topology.cluster_names
        components = Counter(names[component.cluster] for component in placement.components)
        return self._gatekeepers.submission(components, middleware.gatekeeper_s, clock)

    def _middleware(self, run: Run) -> Middleware | None:
        """Return the middleware of a run; None if it is not paced."""
        middleware = self._topology.middleware
        if middleware is None or not run.request.paced_middleware:
            return None
        return middleware.divided(run.request.time_scale)

    def _command(self, run: Run, job: LiveJob, parts: Sequence[Part]) -> list[str]:
        placed = {} if job.placement is None else job.placement.by_cluster()
        clusters = [self._topology.cluster_names[index] for index in placed]
        sizes = [part.processors for part in parts]
        words = command_line(job.specification, sizes, self._topology, run.dilation, clusters)
        words += clocks_ahead(clusters, run.request.host_clocks_ahead_s)
        return [*words, *shared_nodes(parts)] if self._topology.time_sharing else words
