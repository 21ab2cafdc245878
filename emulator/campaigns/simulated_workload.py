"""A workload ready to be simulated, and the options of a simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from emulator.campaigns.job_times import JobTimes
from emulator.campaigns.simulated_run import NamedJob
from emulator.model.errors import InvalidInput
from emulator.model.scheduling import Scanning, StatedClaiming
from emulator.model.stream import StreamJob
from emulator.model.topology import Middleware, Topology
from emulator.policies.state import Surroundings
from emulator.simulator.background import OtherUsers
from emulator.simulator.runtime import FactorTable, RuntimeModel, RuntimeOfJobs
from emulator.simulator.transfers import Transfers
from workloads.swf import Remark

NO_OVERHEAD: Final = Middleware(base_s=0.0)


def with_own_processors(topology: Topology) -> Topology:
    """Return `topology` if each task on it has a processor of its own, as this simulator has it.

    Raises:
        InvalidInput: if tasks share processors in time.
    """
    if topology.time_sharing is not None:
        raise InvalidInput(
            f"Topology {topology.name!r}: time_sharing: this simulation gives each task a processor of its own "
            "(`testbed share` simulates tasks that share nodes)."
        )
    return topology


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """The options of a simulation; None leaves the choice to the workload, or to the defaults where it has none.

    `clusters` generates a topology (`equal_clusters`). `jobs` is the number of jobs of a campaign or a study's stream,
    `load` the gross utilization of the latter, `component_limit` splits the jobs of a log, and `band` is that of a
    campaign's background load in percent, or none. `replicas` is the number of replicas of each of its files, and
    `interarrival_factor` multiplies its mean interarrival time. `time_scale` divides its lengths instead of its own.
    `middleware` adds the topology's overhead to placement. With `estimate_factor` the users' estimates are drawn
    (`workloads.estimates`). With `jobs_per_link` co-allocated jobs slow each other down if more of them share an access
    link (`emulator.simulator.shared_links`).
    """

    topology: str | None = None
    clusters: str | None = None
    policy: str | None = None
    queue: str | None = None
    quota: float | None = None
    band: str | None = None
    replicas: int | None = None
    interarrival_factor: float | None = None
    time_scale: float | None = None
    jobs: int | None = None
    load: float | None = None
    component_limit: int | None = None
    warm_up_jobs: int = 0
    seed: int = 0
    middleware: bool | None = None
    runtime: FactorTable | float | None = None
    estimate_factor: float | None = None
    jobs_per_link: int | None = None


@dataclass(frozen=True)
class SimulatedWorkload:
    """A workload ready to be simulated: its jobs, and what the simulator needs to know of the system.

    `record` is what a manifest says of the workload: of a campaign everything that its file states. `claiming` is that
    of jobs with files, and of those in `failed_claims`, which says how many of a job's first claims fail. `transfers`
    brings the files. Jobs hold their processors for `release_s`, or for such times in turn, after their end. `seed` is
    that of the schedule, and `sources` are the files of its policies; None leaves both to the options. `named` holds
    what the records say of each job, and `provenance` what the manifest says of the simulation. A job is ended
    after `run_time_limit_s`, as live; None: all run to their end.
    """

    name: str
    jobs: Iterable[StreamJob]
    topology: Topology
    policy: str | None
    queue: str
    quota: float | None = None
    scanning: Scanning = field(default_factory=Scanning)
    middleware: Middleware | None = None
    runtime: RuntimeModel | RuntimeOfJobs | float = 1.0
    surroundings: Surroundings | None = None
    background: OtherUsers | None = None
    claiming: StatedClaiming | None = None
    failed_claims: Mapping[int, int] = field(default_factory=dict)
    transfers: Transfers | None = None
    release_s: float | Sequence[float] = 0.0
    remarks: tuple[Remark, ...] = field(default=())
    record: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    sources: Mapping[str, str] | None = None
    named: Mapping[int, NamedJob] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    run_time_limit_s: float | None = None

    @property
    def times(self) -> JobTimes | None:
        """The execution times, if the simulator finds them by each job's problem."""
        return self.runtime if isinstance(self.runtime, JobTimes) else None
