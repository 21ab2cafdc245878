"""The placement queue decides as its plain reading, job by job, however few questions it asks the policy."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.model.placement import Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.scheduling import Scanning
from emulator.model.stream import StreamJob
from emulator.policies.factory import accepting_fixed
from emulator.policies.placement.worst_fit import WorstFit
from emulator.policies.protocols import Arrival, Departure, Reject, Scan, Start, WaitingJob, Withdrawal
from emulator.policies.queues.placement_queue import PlacementQueue
from emulator.policies.registry import placement_policy
from emulator.policies.state import FileState, Surroundings, SystemState
from emulator.simulator import simulate
from tests.unit.policies.plain_placement_queue import PlainPlacementQueue

RNG = numpy.random.default_rng(0)
PROCESSORS = (12, 10, 8)
KINDS = {
    "wf": RequestKind.NON_FIXED,
    "wf-distinct": RequestKind.UNORDERED,
    "cm": RequestKind.NON_FIXED,
    "fcm": RequestKind.FLEXIBLE,
    "cf": RequestKind.NON_FIXED,
    "by-kind": RequestKind.UNORDERED,
    "even-minutes": RequestKind.NON_FIXED,
}
FILES = Surroundings(
    files={"a": FileState((0, 2), 3e9), "b": FileState((1,), 1e9)},
    bandwidth_bytes_per_s={(site, cluster): 1e6 * (1 + site) for site in range(3) for cluster in range(3)},
    history=frozenset({(0, 1), (1, 0)}),
)


class EvenMinutes:
    """A policy that reads the time, and so may place in a state in which it did not place before."""

    accepts = frozenset({RequestKind.NON_FIXED})

    def place(self, request, state):
        return WorstFit().place(request, state) if int(state.time_s) % 2 == 0 else None


class System:
    """A queue with its system, which keeps the processors and the history table."""

    def __init__(self, queue, policy) -> None:
        self.queue, self.policy = queue, policy
        self.state = SystemState(PROCESSORS, PROCESSORS, 0.0, FILES)
        self.held: dict[int, Placement] = {}

    def happen(self, kind, number, time_s, request):
        """Decide on an event; the answers, and all that the queue shows of itself."""
        event = self._event(kind, number, request)
        self.state = SystemState(PROCESSORS, self.state.idle, time_s, self.state.surroundings)
        answers = [] if event is None else list(self.queue.decide(event, self.state, self.policy, RNG))
        for answer in answers:
            if isinstance(answer, Start):
                self.state = self.state.after(answer.placement)
                self.held[answer.job_id] = answer.placement
        return answers, self.queue.snapshot(), self.queue.tries(), list(self.queue.waiting()), self.queue.next_scan_s()

    def _event(self, kind, number, request):
        waiting = list(self.queue.waiting())
        if kind == "arrival":
            return Arrival(WaitingJob(number, request))
        if kind == "departure" and self.held:
            placement = self.held.pop(sorted(self.held)[number % len(self.held)])
            idle = list(self.state.idle)
            for cluster, size in placement.by_cluster().items():
                idle[cluster] += size
            self.state = self.state.with_idle(tuple(idle))
            return Departure(number, placement)
        if kind == "withdrawal" and waiting:
            return Withdrawal(waiting[number % len(waiting)])
        return Scan() if kind == "scan" else None


def request_of(kind: RequestKind, number: int, with_files: bool) -> JobRequest:
    """One of a few requests, so that some are equal; one in five is fixed."""
    sizes = ((3, 3), (7,), (5, 4, 2), (9, 8), (12,), (2, 2, 2))[number % 6]
    if number % 5 == 0:
        return JobRequest(RequestKind.FIXED, (number % 4 + 3,), (number % 3,))
    if kind is RequestKind.FLEXIBLE:
        return JobRequest(kind, (sum(sizes),), least_component=1 + number % 2)
    return JobRequest(kind, sizes, file="ab"[number % 2] if with_files and number % 3 else None)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["arrival"] * 4 + ["scan"] * 3 + ["departure"] * 2 + ["withdrawal"]), st.integers(0, 999)
    ),
    max_size=70,
)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=60, deadline=None)
@given(
    EVENTS,
    st.sampled_from([None, 1, 3]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 0.7]),
)
def test_every_decision_is_that_of_the_plain_reading(name, events, threshold, adaptive, at_departures, quota):
    made = EvenMinutes() if name == "even-minutes" else placement_policy(name)
    systems = [
        System(make(4.0, threshold, adaptive, at_departures), accepting_fixed(made, quota))
        for make in (PlacementQueue, PlainPlacementQueue)
    ]
    for number, (kind, drawn) in enumerate(events):
        request = request_of(KINDS[name], drawn, with_files=name in ("cf", "wf"))
        seen = [
            system.happen(kind, number if kind == "arrival" else drawn, 0.7 * number, request) for system in systems
        ]
        assert seen[0] == seen[1]


class CountingPolicy:
    """Worst fit that counts how often it is asked."""

    accepts = frozenset({RequestKind.NON_FIXED})
    ignores_time = True

    def __init__(self) -> None:
        self.asked = 0

    def place(self, request, state):
        self.asked += 1
        return WorstFit().place(request, state)


def non_fixed(number: int, *sizes: int) -> WaitingJob:
    return WaitingJob(number, JobRequest(RequestKind.NON_FIXED, sizes))


def test_a_scan_in_the_state_of_the_last_one_asks_nothing_and_counts_its_tries():
    queue, policy = PlacementQueue(), CountingPolicy()
    for number in range(100):
        queue.decide(Arrival(non_fixed(number, 5 + number % 3)), SystemState((8, 8), (4, 4), 0.0), policy, RNG)
    for scan in range(1, 4):
        queue.decide(Scan(), SystemState((8, 8), (4, 4), 4.0 * scan), policy, RNG)
    assert policy.asked == 3, "once for each request"
    assert set(queue.tries().values()) == {4}


def test_a_job_that_came_in_another_state_is_tried_though_the_state_is_that_of_the_last_scan():
    queue, policy = PlacementQueue(), WorstFit()
    queue.decide(Arrival(non_fixed(1, 5)), SystemState((8, 8), (4, 4), 0.0), policy, RNG)
    queue.decide(Scan(), SystemState((8, 8), (4, 4), 4.0), policy, RNG)
    queue.decide(Arrival(non_fixed(2, 4)), SystemState((8, 8), (3, 3), 5.0), policy, RNG)
    (start,) = queue.decide(Scan(), SystemState((8, 8), (4, 4), 8.0), policy, RNG)
    assert (start.job_id, start.tries) == (2, 2)


def test_a_scan_asks_nothing_about_jobs_that_are_larger_than_what_is_idle():
    queue, policy = PlacementQueue(), CountingPolicy()
    for number in range(50):
        queue.decide(Arrival(non_fixed(number, 10 + number)), SystemState((64,), (0,), 0.0), policy, RNG)
    policy.asked = 0
    (start,) = queue.decide(Scan(), SystemState((64,), (11,), 4.0), policy, RNG)
    assert (start.job_id, policy.asked) == (0, 1)


def test_the_scans_that_a_simulation_passes_over_are_counted_as_if_they_were_made():
    """With a log, which wants to see every decision, no scan is passed over."""
    jobs = [
        StreamJob(number, 3.0 * number, 50.0 + number % 7, request_of(RequestKind.NON_FIXED, number + 1, False))
        for number in range(80)
    ]
    decisions = []
    for scanning in (Scanning(), Scanning(1.5, adaptive=True), Scanning(2.0, tries_threshold=20)):
        options = {"clusters": PROCESSORS, "queue": "placement", "policy": "wf", "keep_jobs": True}
        passed = simulate(jobs, scanning=scanning, **options)
        logged = simulate(jobs, scanning=scanning, log=lambda *decision: decisions.append(decision), **options)
        assert passed.finished == logged.finished
        assert passed.statistics == logged.statistics
    assert any(isinstance(answer, Reject) for _, _, answers, _ in decisions for answer in answers)


def test_a_policy_that_reads_the_time_is_asked_at_every_scan():
    jobs = [StreamJob(1, 1.0, 1.0, JobRequest(RequestKind.NON_FIXED, (3,)))]
    jobs.append(StreamJob(2, 100.0, 1.0, JobRequest(RequestKind.NON_FIXED, (3,))))
    finished = simulate(
        jobs, clusters=[8], policy=EvenMinutes(), scanning=Scanning(interval_s=0.5), keep_jobs=True
    ).finished
    assert [job.start_s for job in finished] == [2.0, 100.0]
