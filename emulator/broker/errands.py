"""What a placed job's thread is to do, made of the run's request, the job's specification and its placement.

All methods run on the broker's loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from emulator.broker.files.replicas import Replicas
from emulator.broker.files.transfers import Arrived
from emulator.broker.outputs import Outputs
from emulator.broker.plain import PlainRunner
from emulator.broker.programs import command_line
from emulator.broker.runners import MpiRunner, Runner
from emulator.broker.running import Errand, NothingToPrepare, Preparation
from emulator.broker.runs import LiveJob, Run
from emulator.model.errors import NotStanding
from emulator.model.job import JobKind, JobSpecification, Placement
from emulator.model.settings import BrokerSettings
from emulator.model.topology import Topology


class Errands:
    """Makes errands of jobs; input files come from `replicas`, what jobs write goes to `outputs`.

    `on_file_arrived` is told of every transfer for a job of a run that ended well.
    """

    def __init__(
        self,
        topology: Topology,
        settings: BrokerSettings,
        replicas: Replicas,
        outputs: Outputs,
        on_file_arrived: Callable[[Run, LiveJob, Arrived], None],
    ) -> None:
        self._topology = topology
        self._settings = settings
        self._replicas = replicas
        self._outputs = outputs
        self._on_file_arrived = on_file_arrived

    def errand(self, run: Run, job: LiveJob) -> Errand:
        """What the thread of `job` needs; its input file is ordered to where it lacks.

        Raises:
            NotStanding: if the job is not placed.
            UnknownName: if its input file is nowhere.
        """
        placement, procedure = job.placement, job.claiming
        if run.clock is None or placement is None or procedure is None:
            raise NotStanding(f"Run {run.id} is {run.state.value}, and job {job.id} of it is not placed.")
        label = f"{run.id}-{job.id}"
        return Errand(
            label=label,
            placement=placement,
            procedure=procedure,
            runner=self._runner(run, job, label),
            clock=run.clock,
            run_time_limit_s=job.specification.run_time_limit_s,
            host_grant_limit_s=self._settings.host_grant_limit_s,
            overhead_s=self._overhead_s(run, job),
            preparation=self._preparation(run, job, placement),
        )

    def _preparation(self, run: Run, job: LiveJob, placement: Placement) -> Preparation:
        """The job's input file on its way to every cluster of the placement that lacks it."""
        if job.request.file is None:
            return NothingToPrepare()
        names = self._topology.cluster_names
        clusters = [component.cluster for component in placement.components]
        # Not every discipline's choice looks at files; the replicas are then brought from wherever they are.
        sites = zip(clusters, placement.file_sites or clusters, strict=True)
        sources = {names[cluster]: names[site] for cluster, site in sites}
        tell = partial(self._on_file_arrived, run, job)
        return self._replicas.deliver(job.id, job.request.file, sources, run.dilation, tell)

    def _runner(self, run: Run, job: LiveJob, label: str) -> Runner:
        kept = self._outputs.begun(job.id)
        if job.specification.kind is JobKind.PLAIN:
            return PlainRunner(label, job.specification.command, kept)
        return MpiRunner(label, partial(self._command, run, job.specification), self._settings, kept)

    def _overhead_s(self, run: Run, job: LiveJob) -> float | None:
        middleware = self._topology.middleware
        if middleware is None or not run.request.paced_middleware:
            return None
        return middleware.divided(run.request.time_scale).overhead_s(len(job.request.components))

    def _command(
        self, run: Run, specification: JobSpecification, part_sizes: Sequence[int], host_start_moment_s: float | None
    ) -> list[str]:
        return command_line(specification, part_sizes, self._topology, run.dilation, host_start_moment_s)
