"""Observations of a simulation: sums and batches over jobs, in memory independent of the number of jobs.

Jobs are counted by their arrival number, without the warm-up. Two simulations of the same stream therefore count the
same jobs, and their batches can be compared in pairs. A batch holds consecutive arrivals. When `MOST_BATCHES` batches
are full, neighbours are joined, and batches become twice as long. Utilization is counted in processor-seconds from the
arrival of the first counted job to the last arrival, not to the last departure. Only the jobs that wait are counted at
all arrivals, also those of the warm-up.
"""

from __future__ import annotations

from typing import Final, final

MOST_BATCHES: Final = 128
"""Maximum number of batches; it is even. After that many counted jobs, at least half of the batches are in use."""


@final
class JobSums:
    """The number of jobs and the sums of their times."""

    __slots__ = ("execution_s", "jobs", "response_s", "wait_s")

    def __init__(self) -> None:
        self.jobs: int = 0
        self.response_s: float = 0.0
        self.wait_s: float = 0.0
        self.execution_s: float = 0.0

    def add(self, response_s: float, wait_s: float, execution_s: float) -> None:
        """Count a job."""
        self.jobs += 1
        self.response_s += response_s
        self.wait_s += wait_s
        self.execution_s += execution_s


@final
class Batches:
    """Sums of a value of jobs, such as their response time, in batches of consecutive arrivals."""

    __slots__ = ("batch_jobs", "jobs", "sums")

    def __init__(self) -> None:
        self.batch_jobs: int = 1
        self.jobs: list[int] = [0] * MOST_BATCHES
        self.sums: list[float] = [0.0] * MOST_BATCHES

    def add(self, number: int, value: float) -> None:
        """Count the value of a job; `number` is its arrival number among the counted jobs, from 0."""
        batch = number // self.batch_jobs
        while batch >= MOST_BATCHES:
            self._join_neighbours()
            batch = number // self.batch_jobs
        self.jobs[batch] = self.jobs[batch] + 1
        self.sums[batch] = self.sums[batch] + value

    def with_batches_of(self, jobs: int) -> Batches:
        """Return a copy with batches of `jobs` arrivals each, where `jobs` is `batch_jobs` times a power of two."""
        joined = Batches()
        joined.batch_jobs = self.batch_jobs
        joined.jobs = list(self.jobs)
        joined.sums = list(self.sums)
        while joined.batch_jobs < jobs:
            joined._join_neighbours()
        return joined

    def _join_neighbours(self) -> None:
        half = MOST_BATCHES // 2
        for batch in range(half):
            self.jobs[batch] = self.jobs[2 * batch] + self.jobs[2 * batch + 1]
            self.sums[batch] = self.sums[2 * batch] + self.sums[2 * batch + 1]
        for batch in range(half, MOST_BATCHES):
            self.jobs[batch] = 0
            self.sums[batch] = 0.0
        self.batch_jobs *= 2


@final
class Observations:
    """All observations of one simulation; the first `warm_up_jobs` arrivals are not counted."""

    def __init__(self, warm_up_jobs: int) -> None:
        self.warm_up_jobs = warm_up_jobs
        self.arrived: int = 0
        self.started: int = 0
        self.finished: int = 0
        self.given_up: int = 0
        self.reached_limit: int = 0
        self.single_component = JobSums()
        self.multicomponent = JobSums()
        self.by_queue: dict[int, JobSums] = {}
        self.single_component_batches = Batches()
        self.multicomponent_batches = Batches()
        self.waiting_batches = Batches()
        self.first_arrival_s: float = 0.0
        self.counted_from_s: float = 0.0
        self.last_arrival_s: float = 0.0
        self.last_finish_s: float = 0.0
        self.gross_processor_s: float = 0.0
        self.net_processor_s: float = 0.0
        self.waiting_at_last_arrival: int = 0
        self.window_open: bool = True

    def note_arrival(self, time_s: float) -> int:
        """Note the arrival of a job and how many jobs wait before it, and return its number from 0."""
        number = self.arrived
        if number == 0:
            self.first_arrival_s = time_s
        if number == self.warm_up_jobs:
            self.counted_from_s = time_s
        # Responses do not show a queue that starves: after the last arrival it is served without rivals. The warm-up
        # counts, too: of a queue that grows steadily the end of the arrivals alone shows little growth.
        self.waiting_batches.add(number, float(number - self.started - self.given_up))
        self.arrived = number + 1
        self.last_arrival_s = time_s
        return number

    def note_occupied(self, processors: int, start_s: float, end_s: float, net_share: float) -> None:
        """Note that a job occupied processors; `net_share` is its service time over its execution time."""
        if self.window_open and self.arrived > self.warm_up_jobs and end_s > self.counted_from_s:
            if start_s < self.counted_from_s:
                start_s = self.counted_from_s
            occupied_processor_s = processors * (end_s - start_s)
            self.gross_processor_s += occupied_processor_s
            self.net_processor_s += occupied_processor_s * net_share

    def note_finished(
        self, number: int, arrival_s: float, start_s: float, finish_s: float, multicomponent: bool, queue: int
    ) -> None:
        """Note that a job has finished; `queue` is negative if the job was submitted to no particular queue."""
        self.finished += 1
        # Jobs are noted as their processors are released, which may be later for a job that finished earlier.
        if finish_s > self.last_finish_s:
            self.last_finish_s = finish_s
        counted = number - self.warm_up_jobs
        if counted < 0:
            return
        response_s = finish_s - arrival_s
        wait_s = start_s - arrival_s
        execution_s = finish_s - start_s
        if multicomponent:
            self.multicomponent.add(response_s, wait_s, execution_s)
            self.multicomponent_batches.add(counted, response_s)
        else:
            self.single_component.add(response_s, wait_s, execution_s)
            self.single_component_batches.add(counted, response_s)
        if queue >= 0:
            sums = self.by_queue.get(queue)
            if sums is None:
                sums = JobSums()
                self.by_queue[queue] = sums
            sums.add(response_s, wait_s, execution_s)

    def note_reached_limit(self) -> None:
        """Note that a job was ended at the run-time limit: none of its times is a result."""
        self.reached_limit += 1
