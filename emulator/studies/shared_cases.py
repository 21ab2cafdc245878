"""The simulations of the study of non-dedicated clusters: one workload under one composition and one sharing rule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from emulator.model.catalogue import topology_named
from emulator.model.time_sharing.rules import rule_named
from emulator.model.topology import Topology
from emulator.policies.nodes.compositions import COMPOSITIONS, composition_named
from emulator.simulator.parallel_simulations import OUTCOMES_VERSION, Outcome
from emulator.simulator.time_shared.simulation import SharedSetting, simulate_shared
from emulator.studies.statements import Quantity, WorkloadQueue
from workloads.local_users import drawn_users
from workloads.shared_node_jobs import INTERARRIVAL_S, published_jobs

CLUSTER: Final = "cisne"
MOST_BESIDE: Final = 4

INTERARRIVAL_FACTORS: Final = (1.0, 0.5, 0.25)
"""Interarrival times relative to those that the workloads are read with; the first decides the claims."""

VARIED_REPLICATIONS: Final = 10
"""The most replications at the other interarrival times."""

FEWER: Final = ("normal", "3dbf-light")
"""The compositions that are also simulated under the rules that no claim needs for all of them."""

SHARED_QUEUES: Final = (
    *(f"{name}/{rule}" for name in COMPOSITIONS for rule in ("linux", "ccs")),
    *(f"{name}/{rule}" for name in FEWER for rule in ("quantum", "spinning", "dcs")),
)
"""Composition and time-sharing rule, as the study names them."""

SHARED_QUANTITIES: Final = (
    Quantity.EXECUTION,
    Quantity.WAIT,
    Quantity.TURNAROUND,
    Quantity.MAKESPAN,
    Quantity.LATENCY,
    Quantity.ESTIMATOR_ERROR,
)


WIDEST: Final = "dit"


@dataclass(frozen=True, slots=True)
class SharedCase:
    """`jobs` jobs under a composition and a rule (`queue`), `factor` times as far apart as DIT is read.

    The workloads differ in their interarrival times only, so one case may belong to both. The seed decides the jobs,
    the nodes where people work, and what they do, the same for every `queue`.
    """

    queue: str
    factor: float
    jobs: int
    seed: int

    @property
    def key(self) -> str:
        """All that the outcome depends on."""
        stated = f"factor={self.factor!r} jobs={self.jobs} seed={self.seed} outcomes={OUTCOMES_VERSION}"
        return f"shared {self.queue} {stated}"

    def run(self) -> Outcome:
        """Simulate; return mean times, the makespan, and delays of local users beside jobs, also by their number."""
        composition, _, rule = self.queue.partition("/")
        topology = cisne()
        users = drawn_users(self.seed, [cluster.nodes for cluster in topology.clusters])
        setting = SharedSetting(topology, users, composition_named(composition), rule=rule_named(rule), seed=self.seed)
        jobs = published_jobs(WIDEST, self.seed, jobs=self.jobs, interarrival_factor=self.factor)
        result = simulate_shared(setting, jobs)
        return {
            Quantity.EXECUTION.value: result.execution_s,
            Quantity.WAIT.value: result.wait_s,
            Quantity.TURNAROUND.value: result.turnaround_s,
            Quantity.MAKESPAN.value: result.makespan_s,
            Quantity.LATENCY.value: result.latency_beside_s,
            Quantity.ESTIMATOR_ERROR.value: result.estimator_error,
            **{latency_key(beside): result.latency_s(beside) for beside in range(MOST_BESIDE + 1)},
        }


def shared_case(cell: WorkloadQueue, factor: float, jobs: int, seed: int) -> SharedCase:
    """Return the case of a workload and a queue whose interarrival times are `factor` times those read."""
    workload, queue = cell
    return SharedCase(queue, factor * INTERARRIVAL_S[workload] / INTERARRIVAL_S[WIDEST], jobs, seed)


def latency_key(beside: int) -> str:
    """Return the name of the mean delay of bursts with this number of parallel jobs beside them."""
    return f"latency_beside_{beside}_s"


def interarrival_text(factor: float) -> str:
    """Return how tables name a factor."""
    return "interarrival as read" if factor == 1.0 else f"interarrival × {factor:g}"


@lru_cache(maxsize=1)
def cisne() -> Topology:
    """Return the paper's cluster, from ``compose/cisne.yaml``."""
    return topology_named(CLUSTER)
