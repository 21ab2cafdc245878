"""`simulate`: the simulation of a job stream on a multicluster under a discipline and a policy.

    from emulator.simulator import simulate
    result = simulate(jobs, clusters="four-by-32", queue="ls-do")
    result.statistics.response_s, result.jobs        # an interval, and a pandas table with `keep_jobs=True`

The same call always gives exactly the same result. The random numbers of a discipline (LS-RD, LP-RD) come from `seed`
and are separate from those of the job stream, so the jobs never depend on the policy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from emulator.fidelity.background import BackgroundMeasures
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.held_nodes import whole
from emulator.model.request import RequestKind
from emulator.model.scheduling import Scanning, StatedClaiming
from emulator.model.stream import StreamJob
from emulator.model.topology import Middleware, Topology
from emulator.policies.factory import accepting_fixed, discipline_generator, discipline_scanned
from emulator.policies.names import SINGLE_CLUSTER, queue_name
from emulator.policies.protocols import PlacementPolicy, QueueDiscipline
from emulator.policies.queues.estimate_queue import EstimateQueue
from emulator.policies.queues.placement_queue import PlacementQueue
from emulator.policies.queues.visiting import VisitingDiscipline
from emulator.policies.registry import default_policy, default_scanning, placement_policy
from emulator.policies.state import NOTHING_ELSE, Surroundings
from emulator.policies.traits import traits_of_placement
from emulator.simulator.background import BackgroundChange, OtherUsers
from emulator.simulator.claiming import Claims
from emulator.simulator.engine import LONGEST_STANDSTILL_S, Engine, Log
from emulator.simulator.estimates import Statistics, evaluate
from emulator.simulator.possible_jobs import Admission
from emulator.simulator.runtime import Contention, OneFactor, Preparation, RuntimeModel, RuntimeOfJobs
from emulator.simulator.simulated_job import NEVER, FinishedJob, GivenUpJob
from emulator.simulator.statistics import Observations
from emulator.simulator.transfers import Transfers

if TYPE_CHECKING:
    import pandas

PLACING_FIXED: Final = (EstimateQueue, PlacementQueue, VisitingDiscipline)
"""The disciplines that place fixed requests on the clusters that they name, even if the policy does not accept them."""


@dataclass(frozen=True)
class SimulationResult:
    """The result of a simulation: its statistics and, if they were kept, the jobs that ended or were given up.

    `finished` also holds the jobs that were ended at the run-time limit (`reached_limit`).
    `background` says how a background load kept to its band; it is None without such a load. `background_changes` holds
    the changes of the load if they were kept, and is empty otherwise.
    """

    statistics: Statistics
    finished: tuple[FinishedJob, ...]
    jobs_per_host_second: float
    background: BackgroundMeasures | None = None
    background_changes: tuple[BackgroundChange, ...] = ()
    given_up: tuple[GivenUpJob, ...] = ()

    @property
    def jobs(self) -> pandas.DataFrame:
        """A table with one row per job that ended, in order of departure; empty without `keep_jobs`."""
        import pandas

        return pandas.DataFrame(self.finished, columns=pandas.Index(FinishedJob._fields))

    @property
    def summary(self) -> pandas.Series[Any]:
        """The statistics as one flat row."""
        import pandas

        return pandas.json_normalize(asdict(self.statistics), sep="_").iloc[0]


def simulate(
    jobs: Iterable[StreamJob],
    *,
    clusters: Sequence[int] | Topology | str,
    queue: str | Callable[[], QueueDiscipline] = "placement",
    policy: str | PlacementPolicy | None = None,
    runtime: RuntimeModel | RuntimeOfJobs | float = 1.0,
    contention: Contention | None = None,
    seed: int = 0,
    warm_up_jobs: int = 0,
    keep_jobs: bool = False,
    on_finished: Callable[[FinishedJob], None] | None = None,
    stop_at_last_arrival: bool = False,
    most_waiting: int | None = None,
    scanning: Scanning | None = None,
    middleware: Middleware | None = None,
    occupied: Sequence[int] = (),
    background: OtherUsers | None = None,
    claiming: StatedClaiming | None = None,
    failed_claims: Mapping[int, int] | None = None,
    transfers: Transfers | None = None,
    release_s: float | Sequence[float] = 0.0,
    run_time_limit_s: float | None = None,
    quota: float | None = None,
    surroundings: Surroundings | None = None,
    time_scale: float = 1.0,
    log: Log | None = None,
) -> SimulationResult:
    """Simulate `jobs`, in order of arrival, until all have finished.

    Args:
        jobs: the job stream, which is never held in memory as a whole.
        clusters: processors per cluster, a topology, or the name of one; under the queue `sc` they become one cluster.
            Only a topology may have exclusive nodes.
        queue: the name of a discipline, or a function that makes one.
        policy: a placement policy, or its name; by default `wf` under the placement queue, else `wf-distinct`.
        runtime: a runtime model, one that knows each job, or one extension factor for all jobs over several clusters.
        contention: how jobs slow each other down, such as `SharedLinks`; by default they do not.
        seed: the seed of the discipline's random numbers.
        warm_up_jobs: the number of first arrivals that are simulated but not counted.
        keep_jobs: whether to keep the jobs that end; memory then grows with their number.
        on_finished: a function called with each job when it departs.
        stop_at_last_arrival: whether to end at the last arrival instead of after the last departure.
        most_waiting: the number of waiting jobs above which the simulation ends early, as saturated.
        scanning: the options of the placement queue; by default it is scanned every 4 s, or under `placement-adaptive`
            60 s times the mean tries after the last scan, and no job is given up.
        middleware: emulated overhead between placement and start; none by default, as in the published simulations.
        occupied: processors per cluster that other users hold throughout.
        background: other users' jobs that come and go; none by default.
        claiming: how a job whose file is under way claims its processors; by default it holds them from its placement.
        failed_claims: for a job's number, how many of the job's first claims fail even if its processors are idle;
            needs `claiming`.
        transfers: the transfers of input files over shared links; by default each takes as long as it was estimated.
        release_s: how long a job still holds its processors after its end: one time, or several that jobs have in turn;
            0 by default.
        run_time_limit_s: how long a job may run; a job that would run longer is ended then and has not finished. By
            default all jobs run to their end.
        quota: share of each cluster that jobs may occupy, above 0 and at most 1; the whole cluster by default.
        surroundings: files, bandwidths and history for policies that need them.
        time_scale: the number by which all lengths were divided; it also divides the time for which a simulation goes
            on although no job runs and none arrives.
        log: a function called with every decision.

    Raises:
        InvalidInput: if a job, a policy or another argument is invalid; the message says which and why.
    """
    processors, as_totals, together = _system(clusters, queue)
    occupied = [whole(held, together) for held in occupied]
    free = _free(processors, occupied)
    asked = _discipline(queue, scanning)
    chosen = _policy(policy, queue, asked, quota, together, surroundings)
    models = _runtime_models(runtime)
    checked = Admission(free, asked, chosen, as_totals, surroundings or NOTHING_ELSE)
    observations = Observations(warm_up_jobs)
    kept: list[FinishedJob] = []
    given_up: list[GivenUpJob] = []
    engine = Engine(
        processors, _discipline(queue, scanning), chosen, checked, models.of_all, observations,
        discipline_generator(seed), preparation=_preparation(middleware), contention=contention, of_jobs=models.of_jobs,
        surroundings=surroundings, occupied=occupied, background=background,
        claims=None if claiming is None else Claims(claiming, len(processors), failed_claims),
        transfers=transfers, releases_s=_releases(release_s), together=together,
        run_time_limit_s=NEVER if run_time_limit_s is None else run_time_limit_s,
        patience_s=LONGEST_STANDSTILL_S / time_scale,
        on_finished=_finished_observer(kept if keep_jobs else None, on_finished),
        on_given_up=given_up.append if keep_jobs else None, log=log,
    )  # fmt: skip
    host_began_s = time.perf_counter()
    finished = engine.run(iter(jobs), stop_at_last_arrival=stop_at_last_arrival, most_waiting=most_waiting)
    host_elapsed_s = time.perf_counter() - host_began_s
    statistics = evaluate(observations, sum(processors), not finished and not stop_at_last_arrival)
    rate = statistics.jobs_finished / host_elapsed_s if host_elapsed_s > 0 else 0.0
    if background is None:
        return SimulationResult(statistics, tuple(kept), rate, given_up=tuple(given_up))
    changes = tuple(background.changes())
    return SimulationResult(statistics, tuple(kept), rate, background.measures(), changes, tuple(given_up))


def admission(
    clusters: Sequence[int] | Topology | str,
    queue: str | Callable[[], QueueDiscipline] = "placement",
    policy: str | PlacementPolicy | None = None,
    quota: float | None = None,
    surroundings: Surroundings | None = None,
) -> Admission:
    """Return the admission check of `simulate` with these arguments; errors of `check` name the job and the field."""
    processors, as_totals, together = _system(clusters, queue)
    asked = _discipline(queue, None)
    chosen = _policy(policy, queue, asked, quota, together, surroundings)
    return Admission(processors, asked, chosen, as_totals, surroundings or NOTHING_ELSE)


class _System(NamedTuple):
    """The processors per cluster, whether all requests become totals, and how many processors are taken at a time."""

    processors: list[int]
    as_totals: bool
    together: int


def _system(clusters: Sequence[int] | Topology | str, queue: object) -> _System:
    if isinstance(clusters, str):
        clusters = topology_named(clusters)
    sizes = [cluster.processors for cluster in clusters.clusters] if isinstance(clusters, Topology) else list(clusters)
    if not sizes or min(sizes) < 1:
        raise InvalidInput(f"clusters: each must have at least one processor, not {sizes}.")
    together = clusters.processors_taken_together if isinstance(clusters, Topology) else 1
    return _System([sum(sizes)], True, together) if _is_single_cluster(queue) else _System(sizes, False, together)


def _is_single_cluster(queue: object) -> bool:
    return isinstance(queue, str) and queue_name(queue) == SINGLE_CLUSTER


def _free(processors: Sequence[int], occupied: Sequence[int]) -> list[int]:
    if occupied and len(occupied) != len(processors):
        raise InvalidInput(f"occupied: give one number per cluster, not {len(occupied)} for {len(processors)}.")
    free = [size - held for size, held in zip(processors, occupied or [0] * len(processors), strict=True)]
    if min(free) < 0 or (occupied and min(occupied) < 0):
        raise InvalidInput(f"occupied: {list(occupied)} does not lie within clusters of {list(processors)}.")
    return free


def _policy(
    policy: str | PlacementPolicy | None,
    queue: object,
    discipline: QueueDiscipline,
    quota: float | None,
    together: int,
    surroundings: Surroundings | None,
) -> PlacementPolicy:
    """Return the policy as the live broker has it: it accepts fixed requests, and each job reads its file somewhere.

    Where the policy or `discipline` places fixed requests itself, and there is no quota, no file and no node, that
    changes no answer, so the policy itself, which is faster, is returned.

    Raises:
        InvalidInput: if the policy chooses nodes, of which there are none here.
    """
    if policy is None:
        policy = default_policy(queue if isinstance(queue, str) else "")
    found = placement_policy(policy) if isinstance(policy, str) else policy
    if traits_of_placement(found).chooses_nodes:
        raise InvalidInput(
            "policy: it chooses nodes that tasks share in time, which this simulation lacks (`testbed share` has them)."
        )
    places_fixed = isinstance(discipline, PLACING_FIXED) or RequestKind.FIXED in found.accepts
    has_files = surroundings is not None and bool(surroundings.files)
    if places_fixed and not has_files and quota is None and together == 1:
        return found
    return accepting_fixed(found, quota, together)


def _discipline(queue: str | Callable[[], QueueDiscipline], scanning: Scanning | None) -> QueueDiscipline:
    if not isinstance(queue, str):
        return queue()
    return discipline_scanned(queue, default_scanning(queue) if scanning is None else scanning)


def _releases(release_s: float | Sequence[float]) -> Sequence[float]:
    if isinstance(release_s, int | float):
        return (float(release_s),) if release_s else ()
    return release_s


def _preparation(middleware: Middleware | None) -> Preparation | None:
    if middleware is None:
        return None
    return Preparation(middleware.base_s, middleware.per_component_s, middleware.gatekeeper_s)


class _RuntimeModels(NamedTuple):
    """The runtime model of a simulation: `of_all` jobs alike, unless `of_jobs` is set."""

    of_all: RuntimeModel
    of_jobs: RuntimeOfJobs | None = None


def _runtime_models(runtime: RuntimeModel | RuntimeOfJobs | float) -> _RuntimeModels:
    if isinstance(runtime, int | float):
        return _RuntimeModels(OneFactor(float(runtime)))
    given: Any = runtime
    if hasattr(given, "execution_of_s"):
        return _RuntimeModels(OneFactor(1.0), of_jobs=given)
    return _RuntimeModels(given)


def _finished_observer(
    kept: list[FinishedJob] | None, on_finished: Callable[[FinishedJob], None] | None
) -> Callable[[FinishedJob], None] | None:
    if kept is None or on_finished is None:
        return on_finished if kept is None else kept.append

    def keep_and_report(job: FinishedJob) -> None:
        kept.append(job)
        on_finished(job)

    return keep_and_report
