"""Predictions of a run's jobs at a dilation on a host: `PlannedJob` in, `PredictedJob` out.

All that a job is stands in emulated seconds; what the host needs for it comes from its `HostCosts`. `lateness`
predicts its late phases, `plan` adds up what all jobs ask of the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulator.model.clock import Dilation
from emulator.planning.costs import HostCosts, MessagesOver
from emulator.planning.lateness import Lateness, Neighbour, Waking


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job as it is to run, in emulated seconds.

    It is spread over so many `clusters`. Of its ranks `waking` wake for the end of each phase, `together` of them in
    one cluster; the others run ahead of the host's clock, since all that they send is paced. An iteration has `phases`
    compute phases of `phase_s` (None: unpaced), in each of which a rank sweeps `sweeps` times over `points` points; all
    ranks meet after each `meeting_phases` phases (None: only in the end). `delays_s` is what delays and interconnects
    add to an iteration, `segments` is how many packets of messages it sends over the wide area. `grid_bytes` is what
    all ranks hold of the grid.
    """

    name: str
    application: str
    processors: int
    clusters: int
    waking: int
    together: int
    over: MessagesOver
    iterations: int
    phase_s: float | None
    points: int
    phases: int = 1
    sweeps: float = 1.0
    meeting_phases: int | None = 1
    delays_s: float = 0.0
    segments: float = 0.0
    grid_bytes: int = 0


@dataclass(frozen=True, slots=True)
class PredictedJob:
    """What a job will be like at a dilation.

    `late_phase_share` is the share of its phases that end late, `lateness_share` bounds by how much its runtime is too
    long for it, `own_time_share` is how much of an iteration is the host's own time for messages. `host_cpu_share` is
    the CPU that it takes while it runs, in cores; `host_burst_s` how long its kernels have all cores in a phase.
    """

    iteration_s: float
    runtime_s: float
    late_phase_share: float
    lateness_share: float
    own_time_share: float
    host_cpu_s: float
    host_cpu_share: float
    host_packets_per_s: float
    host_burst_s: float
    host_period_s: float


def predict_job(
    job: PlannedJob, dilation: Dilation, costs: HostCosts, lateness: Lateness, neighbours: Sequence[Neighbour] = ()
) -> PredictedJob:
    """What `job` will be like beside `neighbours` on the host of these costs."""
    kernel_s = _kernel_s(job, costs)
    own_s = costs.message_time_s(job.application, job.processors, job.over)
    host_burst_s = job.processors * kernel_s / costs.cores
    host_phase_s = host_burst_s if job.phase_s is None else dilation.host_duration_s(job.phase_s)
    host_iteration_s = job.phases * max(host_phase_s, host_burst_s) + dilation.host_duration_s(job.delays_s) + own_s
    messages_s = costs.message_cpu_s(job.application, job.processors, job.over)
    work_s = job.processors * (job.phases * kernel_s + messages_s)
    beside = sum(other.share * other.core_share for other in neighbours)
    busy_share = work_s / host_iteration_s / costs.cores + beside
    waking = Waking(
        ranks=job.processors,
        clusters=job.clusters,
        together=job.together,
        share=job.waking / job.processors,
        over=job.over,
        host_phase_s=host_phase_s,
        host_kernel_s=kernel_s,
        core_share=busy_share,
        turns_share=beside + turns_share(job, dilation, costs),
    )
    least_s = costs.message_least_cpu_s(job.application, job.processors, job.over)
    host_work_s = job.processors * (job.phases * kernel_s + least_s) / costs.cores
    core_share = beside + _core_share(job, host_burst_s, host_phase_s, host_work_s, dilation)
    paced = job.phase_s is not None
    late = lateness.late_share(waking, core_share, neighbours) if paced else 0.0
    return PredictedJob(
        iteration_s=dilation.emulated_duration_s(host_iteration_s),
        runtime_s=job.iterations * dilation.emulated_duration_s(host_iteration_s),
        late_phase_share=late,
        lateness_share=_lateness_share(job, waking, lateness, host_iteration_s, core_share) if paced else 0.0,
        own_time_share=own_s / host_iteration_s,
        host_cpu_s=job.iterations * work_s,
        host_cpu_share=work_s / host_iteration_s,
        host_packets_per_s=costs.router.packets_per_segment * job.segments / host_iteration_s,
        host_burst_s=host_burst_s,
        host_period_s=host_iteration_s / job.phases,
    )


def _kernel_s(job: PlannedJob, costs: HostCosts) -> float:
    """Host seconds of CPU that a rank's kernels take in a phase."""
    return job.sweeps * costs.kernel_s(job.application, job.points)


def _core_share(
    job: PlannedJob,
    host_burst_s: float,
    host_phase_s: float,
    host_work_s: float,
    dilation: Dilation,
) -> float:
    """What must be done in time, as a share of all cores.

    Over an interconnect messages do not wait for the host: it must keep up with all of an iteration. Elsewhere it must
    do the kernels while the phases last.
    """
    if job.over is MessagesOver.INTERCONNECT:
        emulated_s = job.phases * host_phase_s + dilation.host_duration_s(job.delays_s)
        return host_work_s / emulated_s
    return host_burst_s / host_phase_s


def turns_share(job: PlannedJob, dilation: Dilation, costs: HostCosts) -> float:
    """What it takes ranks that need not be ready to wake for each other's messages, as a share of an iteration.

    They do it as through shared memory: one after another, with cores idle in between. Ranks that are behind wake less
    often, so that the runtime grows by less than this exceeds 1.
    """
    if job.over is not MessagesOver.INTERCONNECT:
        return 0.0
    host_burst_s = job.processors * _kernel_s(job, costs) / costs.cores
    host_turns_s = costs.message_time_s(job.application, job.processors, MessagesOver.SHARED_MEMORY)
    emulated_s = job.phases * (job.phase_s or 0.0) + job.delays_s
    host_iteration_s = dilation.host_duration_s(emulated_s)
    return (job.phases * host_burst_s + host_turns_s) / host_iteration_s if host_iteration_s > 0 else 0.0


def _lateness_share(
    job: PlannedJob, waking: Waking, lateness: Lateness, host_iteration_s: float, core_share: float
) -> float:
    """By how much the runtime is too long, relative to it: lateness that adds up, and what the cores cannot do."""
    phases = job.iterations * job.phases
    meeting_phases = min(phases, job.meeting_phases or phases)
    meetings_s = phases / meeting_phases * lateness.meeting_lateness_s(waking, meeting_phases)
    return meetings_s / (job.iterations * host_iteration_s) + max(0.0, core_share - 1.0)
