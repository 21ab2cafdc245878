"""EASY and conservative backfilling decide as their plain reading, job by job, however few jobs they look at."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.model.placement import Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.policies.factory import accepting_fixed
from emulator.policies.placement.worst_fit import WorstFit
from emulator.policies.protocols import Arrival, Departure, Start, WaitingJob, Withdrawal
from emulator.policies.queues.backfilling import ConservativeBackfilling, EasyBackfilling
from emulator.policies.queues.estimated_jobs import EstimatedJobs
from emulator.policies.registry import placement_policy
from emulator.policies.state import RunningJob, Surroundings, SystemState
from emulator.simulator import simulate
from tests.unit.policies.plain_backfilling_queue import PlainConservative, PlainEasy

RNG = numpy.random.default_rng(0)
PROCESSORS = (12, 10, 8)
PAIRS = {"easy": (EasyBackfilling, PlainEasy), "conservative": (ConservativeBackfilling, PlainConservative)}
KINDS = {
    "wf": RequestKind.NON_FIXED,
    "wf-distinct": RequestKind.UNORDERED,
    "cm": RequestKind.NON_FIXED,
    "fcm": RequestKind.FLEXIBLE,
    "short-only": RequestKind.NON_FIXED,
}
SIZES = ((3, 3), (7,), (5, 4, 2), (9, 8), (12,), (2, 2, 2), (1,), (4, 4))


class ShortOnly:
    """A policy that reads the estimate: long jobs need a cluster that is idle as a whole."""

    accepts = frozenset({RequestKind.NON_FIXED})

    def place(self, request, state):
        if request.estimate_s > 10 and not any(map(int.__eq__, state.idle, state.processors)):
            return None
        return WorstFit().place(request, state)


class System:
    """A queue with its system, which knows the estimated ends of the jobs that run."""

    def __init__(self, queue, policy) -> None:
        self.queue, self.policy = queue, policy
        self.idle = PROCESSORS
        self.running: tuple[RunningJob, ...] = ()
        self.estimates: dict[int, float] = {}

    def happen(self, kind, number, time_s, request):
        """Decide on an event; the answers, and all that the queue shows of itself."""
        event = self._event(kind, number, request)
        answers = []
        if event is not None:
            state = SystemState(PROCESSORS, self.idle, time_s, Surroundings(running=self.running))
            answers = list(self.queue.decide(event, state, self.policy, RNG))
            for answer in answers:
                assert isinstance(answer, Start)
                state = state.after(answer.placement)
                end_s = time_s + self.estimates[answer.job_id]
                self.running = (*self.running, RunningJob(answer.job_id, answer.placement, time_s, end_s))
            self.idle = state.idle
        return answers, self.queue.snapshot(), self.queue.waiting()

    def _event(self, kind, number, request):
        waiting = self.queue.waiting()
        if kind == "arrival":
            self.estimates[number] = request.estimate_s
            return Arrival(WaitingJob(number, request))
        if kind == "departure" and self.running:
            job = self.running[number % len(self.running)]
            self.running = tuple(each for each in self.running if each is not job)
            idle = list(self.idle)
            for cluster, size in job.placement.by_cluster().items():
                idle[cluster] += size
            self.idle = tuple(idle)
            return Departure(job.id, Placement(job.placement.components))
        if kind == "withdrawal" and waiting:
            return Withdrawal(waiting[number % len(waiting)])
        if kind == "restored":
            snapshot = self.queue.snapshot()
            self.queue = type(self.queue)()
            self.queue.restore(snapshot)
        return None


def request_of(kind: RequestKind, number: int) -> JobRequest:
    """One of a few requests with one of a few estimates, so that some are equal; one in nine is fixed."""
    sizes, estimate_s = SIZES[number % len(SIZES)], float((number // 8) % 14)
    if number % 9 == 0:
        return JobRequest(RequestKind.FIXED, (number % 4 + 3,), (number % 3,), estimate_s=estimate_s)
    if kind is RequestKind.FLEXIBLE:
        return JobRequest(kind, (sum(sizes),), estimate_s=estimate_s)
    return JobRequest(kind, sizes, estimate_s=estimate_s)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["arrival"] * 6 + ["departure"] * 4 + ["withdrawal", "restored"]), st.integers(0, 999)
    ),
    max_size=90,
)  # fmt: skip


@pytest.mark.parametrize("queue", PAIRS)
@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=40, deadline=None)
@given(EVENTS, st.sampled_from([None, 0.7]))
def test_every_decision_is_that_of_the_plain_reading(queue, name, events, quota):
    made = ShortOnly() if name == "short-only" else placement_policy(name)
    systems = [System(of_kind(), accepting_fixed(made, quota)) for of_kind in PAIRS[queue]]
    for number, (kind, drawn) in enumerate(events):
        request = request_of(KINDS[name], drawn)
        seen = [
            system.happen(kind, number if kind == "arrival" else drawn, 0.7 * number, request) for system in systems
        ]
        assert seen[0] == seen[1]


@pytest.mark.parametrize("queue", PAIRS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_a_saturated_system_starts_each_job_when_the_plain_reading_does(queue, seed):
    """Hundreds of jobs wait, with drawn estimates that are never equal."""
    numbers = numpy.random.default_rng(seed)
    jobs = []
    for number in range(250):
        service_s = float(numbers.uniform(5, 60))
        sizes = SIZES[int(numbers.integers(len(SIZES)))]
        request = JobRequest(RequestKind.NON_FIXED, sizes, estimate_s=service_s * float(numbers.uniform(0.7, 3)))
        jobs.append(StreamJob(number, 1.5 * number, service_s, request))
    found = [
        simulate(jobs, clusters=PROCESSORS, queue=of_kind, policy="wf", keep_jobs=True).finished
        for of_kind in PAIRS[queue]
    ]
    assert found[0] == found[1]
    assert max(job.start_s - job.arrival_s for job in found[0]) > 300


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=60), st.integers(-1, 60), st.integers(0, 14))
def test_the_first_job_of_a_group_that_ends_in_time_is_found_among_those_that_still_wait(jobs, after, limit):
    waiting = EstimatedJobs()
    waiting.note_policy(WorstFit())
    for number, (estimate_s, _) in enumerate(jobs):
        waiting.add(WaitingJob(number, JobRequest(RequestKind.NON_FIXED, (2,), estimate_s=float(estimate_s))))
    for number, (_, removed) in enumerate(jobs):
        if removed:
            waiting.remove(number)
    groups = list(waiting.up_to(2))
    left = [(number, float(estimate_s)) for number, (estimate_s, removed) in enumerate(jobs) if not removed]
    assert len(groups) == (1 if left else 0)
    for in_time in (True, False):
        expected = [number for number, estimate_s in left if number > after and (3 + estimate_s <= limit) is in_time]
        found = [group.first_after(after, 3.0, float(limit), in_time) for group in groups]
        assert [queued.job.id for queued in found if queued is not None] == expected[:1]
    assert waiting.last_up_to(2) == (left[-1][0] if left else -1)
    assert waiting.last_up_to(1) == -1


def test_jobs_that_want_different_shares_of_a_processor_do_not_count_as_equal():
    waiting = EstimatedJobs()
    waiting.note_policy(WorstFit())
    for number, share in enumerate((1.0, 0.5, 0.5)):
        waiting.add(WaitingJob(number, JobRequest(RequestKind.TOTAL, (2,), estimate_s=5.0, processor_share=share)))
    assert sorted(group.count for group in waiting.up_to(2)) == [1, 2]


def test_jobs_are_grouped_anew_under_a_policy_that_reads_estimates():
    waiting = EstimatedJobs()
    ignoring, reading = WorstFit(), ShortOnly()
    waiting.note_policy(ignoring)
    for number in range(2):
        waiting.add(WaitingJob(number, JobRequest(RequestKind.NON_FIXED, (2,), estimate_s=float(number))))
    for policy, sizes in ((ignoring, [2]), (reading, [1, 1]), (reading, [1, 1]), (ignoring, [2])):
        waiting.note_policy(policy)
        assert [group.count for group in waiting.up_to(2)] == sizes
