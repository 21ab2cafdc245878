"""The simulations of studies, as values that any worker can run: one load, or the search for saturation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from emulator.simulator.parallel_simulations import OUTCOMES_VERSION, Outcome
from emulator.simulator.simulation import SimulationResult, simulate
from emulator.simulator.study_streams import SYSTEM, StudyWorkload, study_workload

WARM_UP_SHARE: Final = 0.1
"""The share of the arrivals that is simulated and not counted."""

BACKLOG: Final = 0.015
"""A load cannot be carried if more than this share of all arrivals still waits at the last one."""

HOPELESS_BACKLOG: Final = 5 * BACKLOG
"""Once this share of all arrivals waits, the backlog will not shrink again: the simulation can stop."""

LOAD_TOLERANCE: Final = 0.004
SEARCH_EXCESS: Final = (1.01, 1.02)
"""By which factors, at least and at most, the largest load that the search finds exceeds the true one."""

LOWEST_LOAD: Final = 0.2
HIGHEST_LOAD: Final = 1.0


@dataclass(frozen=True, slots=True)
class ResponseCase:
    """`jobs` arrivals of a workload at gross utilization `load` under a discipline."""

    workload: str
    queue: str
    load: float
    jobs: int
    seed: int

    @property
    def key(self) -> str:
        """All that the outcome depends on."""
        stated = f"load={self.load!r} jobs={self.jobs} seed={self.seed} outcomes={OUTCOMES_VERSION}"
        return f"response {self.workload} {self.queue} {stated}"

    def run(self) -> Outcome:
        """Simulate until all jobs have finished; return times of all jobs, and of single- and multicomponent ones."""
        statistics = _simulated(study_workload(self.workload), self.queue, self.load, self.jobs, self.seed).statistics
        return {
            "response_s": statistics.total.response_s,
            "local_response_s": statistics.local.response_s,
            "global_response_s": statistics.global_.response_s,
            "gross_utilization": statistics.gross_utilization,
            "net_utilization": statistics.net_utilization,
            "gross_over_net": statistics.gross_over_net,
            "saturated": statistics.saturated,
        }


@dataclass(frozen=True, slots=True)
class SaturationCase:
    """The largest gross utilization that a discipline carries, found by halving an interval of loads.

    A load is too much if more than the share `BACKLOG` of `jobs` arrivals waits at the last of them. All loads see the
    same jobs at scaled times, and so do all disciplines with the same seed. The result exceeds the true value by one to
    two percent (`SEARCH_EXCESS`), because such a backlog takes time to build up.
    """

    workload: str
    queue: str
    jobs: int
    seed: int

    @property
    def key(self) -> str:
        """All that the outcome depends on."""
        stated = f"jobs={self.jobs} seed={self.seed} outcomes={OUTCOMES_VERSION}"
        return f"saturation {self.workload} {self.queue} {stated}"

    def run(self) -> Outcome:
        """Search; return the maximal gross utilization and the net one that goes with it."""
        workload = study_workload(self.workload)
        carried, refused = LOWEST_LOAD, HIGHEST_LOAD
        while refused - carried > LOAD_TOLERANCE:
            load = (carried + refused) / 2
            if self._is_too_much(workload, load):
                refused = load
            else:
                carried = load
        maximal = (carried + refused) / 2
        return {"maximal_gross": maximal, "maximal_net": maximal / workload.gross_over_net(self.queue)}

    def _is_too_much(self, workload: StudyWorkload, load: float) -> bool:
        hopeless = int(HOPELESS_BACKLOG * self.jobs)
        result = _simulated(
            workload, self.queue, load, self.jobs, self.seed, most_waiting=hopeless, stop_at_last_arrival=True
        )
        return result.statistics.waiting_at_last_arrival > BACKLOG * self.jobs


def _simulated(
    workload: StudyWorkload, queue: str, load: float, jobs: int, seed: int, **options: Any
) -> SimulationResult:
    return simulate(
        workload.stream(load, queue).jobs(jobs, seed),
        clusters=SYSTEM,
        queue=queue,
        runtime=workload.runtime,
        seed=seed,
        warm_up_jobs=int(WARM_UP_SHARE * jobs),
        **options,
    )
