"""The engine: against a plain second implementation, and what it promises of order, time, input and sameness."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.scheduling import Scanning
from emulator.model.stream import StreamJob
from emulator.model.topology import Middleware
from emulator.policies.protocols import Arrival, Departure, Scan, Start
from emulator.simulator import simulate
from tests.unit.simulator.plain_reading import PlainJob, PlainSimulation

FOUR_BY_32 = [32, 32, 32, 32]
DETERMINISTIC = ["gs", "ls-or", "ls-ro", "ls-do", "gp", "lp-lf", "lp-gf"]


def job(number, arrival_s, service_s, components, queue=0, application=""):
    return StreamJob(number, arrival_s, service_s, JobRequest(RequestKind.UNORDERED, components), queue, application)


def lives(jobs, clusters=FOUR_BY_32, **options):
    """Per job: start, finish, clusters."""
    finished = simulate(jobs, clusters=clusters, keep_jobs=True, **options).finished
    return {
        finished_job.id: (finished_job.start_s, finished_job.finish_s, finished_job.clusters)
        for finished_job in finished
    }


def random_jobs(seed, count=400, whole_times=False):
    numbers = random.Random(seed)
    jobs, now_s = [], 0.0
    for number in range(count):
        now_s += numbers.randint(0, 2) if whole_times else numbers.expovariate(1.6)
        service_s = float(numbers.randint(0, 9)) if whole_times else numbers.expovariate(0.2)
        components = tuple(numbers.randint(1, 16) for _ in range(numbers.randint(1, 4)))
        jobs.append(job(number, now_s, service_s, components, numbers.choice((0, 0, 1, 2, 3))))
    return jobs


@pytest.mark.parametrize("whole_times", [False, True])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_job_by_job_as_a_plain_second_implementation(name, whole_times):
    """Whole timestamps make departures and arrivals coincide, so that ties are compared too."""
    for seed in range(4):
        jobs = random_jobs(seed, whole_times=whole_times)
        plain = [
            PlainJob(each.id, each.arrival_s, each.service_s, list(each.request.components), each.queue)
            for each in jobs
        ]
        PlainSimulation(name, list(FOUR_BY_32), 1.25).run(plain)
        expected = {
            plain_job.id: (plain_job.start_s, plain_job.finish_s, tuple(plain_job.clusters)) for plain_job in plain
        }
        assert lives(jobs, queue=name, runtime=1.25) == expected


def test_sc_is_gs_with_totals_on_one_cluster():
    jobs = random_jobs(7)
    totals = [
        PlainJob(stream_job.id, stream_job.arrival_s, stream_job.service_s, [stream_job.request.processors], 0)
        for stream_job in jobs
    ]
    PlainSimulation("sc", [128]).run(totals)
    expected = {plain_job.id: (plain_job.start_s, plain_job.finish_s, (0,)) for plain_job in totals}
    assert lives(jobs, queue="sc", runtime=1.25) == expected


@pytest.mark.parametrize("seed", range(3))
def test_identity_only_single_component_jobs(seed):
    """GP, LP and LS coincide, and so do the variants of LS."""
    jobs = [
        replace(stream_job, request=JobRequest(RequestKind.UNORDERED, stream_job.request.components[:1]))
        for stream_job in random_jobs(seed)
    ]
    names = ["gp", "lp-lf", "lp-gf", "lp-rd", "ls-or", "ls-rd", "ls-ro", "ls-do"]
    first, *others = [lives(jobs, queue=name) for name in names]
    assert all(other == first for other in others)


@pytest.mark.parametrize("seed", range(3))
def test_identity_only_multicomponent_jobs(seed):
    """GP, LP and GS coincide."""
    jobs = [stream_job for stream_job in random_jobs(seed) if len(stream_job.request.components) > 1]
    first, *others = [lives(jobs, queue=name) for name in ("gs", "gp", "lp-lf", "lp-gf", "lp-rd")]
    assert all(other == first for other in others)


# Order of events.


def events_of(jobs, **options):
    decisions = []

    def log(time_s, event, answers, idle):
        kind = {Arrival: "arrival", Departure: "departure", Scan: "scan"}[type(event)]
        decisions.append((time_s, kind, [answer.job_id for answer in answers], idle))

    simulate(jobs, log=log, **options)
    return decisions


def test_at_equal_moments_departures_precede_arrivals_and_arrivals_scans():
    jobs = [job(1, 0, 4, (8,)), job(2, 0, 9, (8,)), job(3, 4, 1, (2,))]
    assert events_of(jobs, clusters=[8], queue="placement") == [
        (0, "arrival", [1], (8,)),
        (0, "arrival", [], (0,)),
        (4, "departure", [], (8,)),
        (4, "arrival", [3], (8,)),
        (4, "scan", [], (6,)),
        (5, "departure", [], (8,)),
        (8, "scan", [2], (8,)),
        (17, "departure", [], (8,)),
    ]


def test_simultaneous_departures_are_separate_decisions_in_the_order_of_start():
    jobs = [job(1, 0, 5, (4,)), job(2, 1, 4, (4,)), job(3, 2, 1, (8,))]
    assert events_of(jobs, clusters=[8], queue="gs")[3:] == [
        (5, "departure", [], (4,)),
        (5, "departure", [3], (8,)),
        (6, "departure", [], (8,)),
    ]


def test_a_job_without_service_departs_before_the_next_arrival_of_its_moment():
    jobs = [job(1, 3, 0, (8,)), job(2, 3, 0, (8,))]
    assert lives(jobs, clusters=[8], queue="gs") == {1: (3, 3, (0,)), 2: (3, 3, (0,))}


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_time_does_not_drift(arrivals):
    """Each timestamp is the arrival, or arrival plus service, to the last bit: no error adds up."""
    jobs = [job(number, arrival_s, 0.1, (1,)) for number, arrival_s in enumerate(sorted(arrivals))]
    assert all(
        (start_s, finish_s) == (stream_job.arrival_s, stream_job.arrival_s + 0.1)
        for stream_job, (start_s, finish_s, _) in zip(
            jobs, lives(jobs, clusters=[64], queue="gs").values(), strict=True
        )
    )


# What lies between placement and departure.


def test_gatekeepers_serve_components_one_at_a_time_in_the_order_of_placement():
    requests = [JobRequest(RequestKind.NON_FIXED, components) for components in ((2, 2), (4, 4), (2,))]
    jobs = [StreamJob(number, 0.0, 100.0, request, 0) for number, request in enumerate(requests, start=1)]
    middleware = Middleware(base_s=10, per_component_s=1, gatekeeper_s=3)
    result = simulate(jobs, clusters=[32], queue="placement", middleware=middleware, keep_jobs=True)
    # 3 s for each component at the one head: those of the first job are served by 6 s, of the second by 12 s.
    assert {job.id: job.start_s for job in result.finished} == {1: 6 + 12, 2: 12 + 12, 3: 15 + 11}
    apart = simulate(jobs[:2], clusters=[4, 4, 4, 4], queue="placement", middleware=middleware, keep_jobs=True)
    # Four heads: two components of two jobs meet nowhere, since the second job's need a cluster each.
    assert {job.id: job.start_s for job in apart.finished} == {1: 3 + 12, 2: 3 + 12}


def test_middleware_holds_processors_from_placement_to_start():
    jobs = [job(1, 0, 10, (8, 8)), job(2, 0, 1, (32, 32, 32, 32))]
    middleware = Middleware(base_s=5, per_component_s=1)
    assert lives(jobs, queue="gs", middleware=middleware) == {1: (7, 17, (0, 1)), 2: (17 + 9, 27, (0, 1, 2, 3))}


def test_the_factor_extends_jobs_over_several_clusters_only():
    jobs = [job(1, 0, 10, (8,)), job(2, 0, 10, (8, 8)), job(3, 0, 10, (2, 2))]
    assert [life[1] for life in lives(jobs, queue="gs", runtime=1.25).values()] == [10, 12.5, 12.5]
    together = lives(jobs, queue="placement", policy="cm", runtime=1.25, clusters=[32, 16])
    assert [life[1] for life in together.values()] == [10, 10, 10]


def test_other_users_hold_processors_throughout():
    jobs = [job(1, 0, 10, (8,)), job(2, 0, 10, (8,))]
    assert [life[0] for life in lives(jobs, clusters=[20], queue="gs", occupied=[10]).values()] == [0, 10]


def test_flexible_cluster_minimization_gets_the_totals():
    assert lives([job(1, 0, 1, (16, 16))], clusters=[20, 10, 15], queue="placement", policy="fcm") == {
        1: (0, 1, (0, 2))
    }


@pytest.mark.parametrize("queue", ["ls-do", "gp", "lp-lf"])
def test_under_flexible_cluster_minimization_single_component_jobs_stay_at_home_too(queue):
    jobs = [job(1, 0, 10, (8,), queue=1), job(2, 0, 10, (30,), queue=1), job(3, 0, 10, (16, 16), queue=1)]
    found = lives(jobs, clusters=[32, 32, 32], queue=queue, policy="fcm")
    assert (found[1][2], found[2][2], found[2][0]) == ((1,), (1,), 10)
    assert found[3][2] == (0,), "a job of two components is flexible"


# Sameness.


@pytest.mark.parametrize("name", ["gs", "ls-do", "ls-rd", "lp-rd", "placement"])
def test_the_same_seed_gives_the_same_to_the_last_byte(name):
    runs = [simulate(random_jobs(3), clusters=FOUR_BY_32, queue=name, keep_jobs=True, seed=5) for _ in range(2)]
    assert repr(runs[0].finished) == repr(runs[1].finished)
    assert repr(runs[0].statistics) == repr(runs[1].statistics)


def test_keeping_jobs_changes_nothing_and_gives_a_table():
    jobs = random_jobs(1)
    kept = simulate(jobs, clusters=FOUR_BY_32, queue="ls-do", keep_jobs=True)
    assert kept.statistics == simulate(jobs, clusters=FOUR_BY_32, queue="ls-do").statistics
    assert len(kept.jobs) == len(jobs)
    assert list(kept.jobs.columns[:5]) == ["id", "arrival_s", "placed_s", "start_s", "finish_s"]
    assert kept.summary["response_s_mean"] == pytest.approx((kept.jobs.finish_s - kept.jobs.arrival_s).mean())


# Bad input.


@pytest.mark.parametrize(
    ("jobs", "sentence"),
    [
        ([job(1, 0, -1, (8,))], "Job 1: service_s: must be a number of seconds, zero or more, not -1."),
        ([job(1, 0, math.nan, (8,))], "Job 1: service_s"),
        ([job(1, math.nan, 1, (8,))], "Job 1: arrival_s"),
        ([job(1, 0, 1, (8,)), job(2, math.nan, 1, (8,))], "Job 2: arrival_s"),
        ([job(1, math.inf, 1, (8,))], "Job 1: arrival_s"),
        (
            [job(1, 5.0, 1, (8,)), job(2, 4.0, 1, (8,))],
            "Job 2: arrival_s: 4.0 lies before 5.0, the arrival of the job before it.",
        ),
        ([job(1, 0, 9, (8,)), job(1, 1, 1, (8,))], "Job 1: id: another job"),
        ([job(1, 0, 1, (8,), 4)], "Job 1 was submitted to queue 4"),
        ([job(1, 0, 1, (8,), None)], "Job 1 names no queue, but there is one queue per cluster"),
    ],
)
def test_a_job_that_cannot_be_meant_is_refused_in_one_sentence(jobs, sentence):
    with pytest.raises(InvalidInput) as refusal:
        simulate(jobs, clusters=FOUR_BY_32, queue="ls-do")
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("components", "queue", "clusters"),
    [((33,), 0, FOUR_BY_32), ((1, 1, 1, 1, 1), 0, FOUR_BY_32), ((20,), 1, [32, 16]), ((20, 20), 0, [32, 16])],
)
def test_a_job_that_can_never_fit_is_refused_on_arrival(components, queue, clusters):
    with pytest.raises(ImpossibleRequest, match=r"Job 9: components: .* can never be placed"):
        simulate([job(9, 0, 1, components, queue)], clusters=clusters, queue="ls-or")


def test_a_policy_that_takes_what_is_not_idle_is_found_out():
    class Greedy:
        accepts = frozenset({RequestKind.UNORDERED})

        def place(self, request, state):
            return Placement((Component(0, request.components[0]),))

    with pytest.raises(InvalidInput, match="places 20 processors of job 2 on cluster 0, where 12 are idle"):
        simulate([job(1, 0, 1, (20,)), job(2, 0, 1, (20,))], clusters=[32], queue="gs", policy=Greedy())


def test_a_policy_that_never_starts_a_job_is_found_out():
    class Lazy:
        accepts = frozenset({RequestKind.UNORDERED})

        def place(self, request, state):
            return Placement((Component(0, 8),)) if state.time_s == 0 and request.components == (8,) else None

    class AlwaysAlike(Lazy):
        ignores_time = True

    jobs = [job(1, 0, 1, (8,)), job(2, 2, 1, (8,))]
    decided_s = []

    def log(time_s, *_):
        decided_s.append(time_s)

    for queue, policy in (("gs", Lazy()), ("placement", AlwaysAlike())):
        with pytest.raises(ImpossibleRequest, match="Job 2 still waits though nothing runs and nothing more"):
            simulate(jobs, clusters=[32], queue=queue, policy=policy, log=log)
    assert max(decided_s) == 6, "the first scan starts nothing, so none does"
    # A policy that may read the time is asked again until the longest standstill, here 2592 s, is over.
    with pytest.raises(ImpossibleRequest, match=r"Job 2 still waits though nothing runs and no job has .* since 2 s"):
        simulate(jobs, clusters=[32], queue="placement", policy=Lazy(), time_scale=1000, log=log)
    assert 2592 < max(decided_s) < 2602


def test_a_policy_that_starts_a_job_at_certain_times_only_is_scanned_until_then():
    class AfterAnHour:
        accepts = frozenset({RequestKind.UNORDERED})

        def place(self, request, state):
            # Whether a job could start at all is asked at 0.
            return Placement((Component(0, 8),)) if state.time_s == 0 or state.time_s >= 3600 else None

    last = [job(1, 1, 10, (8,))]
    assert lives(last, clusters=[32], queue="placement", policy=AfterAnHour()) == {1: (3601, 3611, (0,))}


def test_a_threshold_of_tries_gives_up_what_no_scan_starts():
    class AtZero:
        accepts = frozenset({RequestKind.UNORDERED})
        ignores_time = True

        def place(self, request, state):
            return Placement((Component(0, 8),)) if state.time_s == 0 else None

    result = simulate(
        [job(1, 0, 1, (8,)), job(2, 1, 1, (8,))], clusters=[32], queue="placement", policy=AtZero(), keep_jobs=True,
        scanning=Scanning(tries_threshold=5),
    )  # fmt: skip
    # The sixth try is the fifth scan.
    assert [(each.id, each.given_up_s, each.tries) for each in result.given_up] == [(2, 1 + 5 * 4, 6)]


class OneByOne:
    """A discipline of one's own that starts the first job whenever the policy places it."""

    def __init__(self):
        self.jobs = []

    def decide(self, event, state, policy, rng):
        if isinstance(event, Arrival):
            self.jobs.append(event.job)
        placement = policy.place(self.jobs[0].request, state) if self.jobs else None
        return [] if placement is None else [Start(self.jobs.pop(0).id, placement)]

    def next_scan_s(self):
        return None

    def waiting(self):
        return [each.id for each in self.jobs]


def test_a_discipline_that_always_plans_a_scan_starts_the_last_job_at_one_and_the_simulation_ends():
    class EveryTenthMinute(OneByOne):
        scan_s = 60.0

        def decide(self, event, state, policy, rng):
            if not isinstance(event, Scan):
                self.jobs += [event.job] if isinstance(event, Arrival) else []
                return []
            self.scan_s = state.time_s + 60.0
            return super().decide(event, state, policy, rng) if state.time_s % 600.0 == 0.0 else []

        def next_scan_s(self):
            return self.scan_s

    assert lives([job(1, 0, 10, (8,))], clusters=[32], queue=EveryTenthMinute) == {1: (600, 610, (0,))}


def test_a_scan_that_is_asked_for_in_the_past_happens_at_once_as_live():
    """Its first scan would be at 0 and its second at 60, but no job waits until 100 and 150."""

    class EveryMinute(OneByOne):
        scan_s = 0.0

        def decide(self, event, state, policy, rng):
            if not isinstance(event, Scan):
                self.jobs += [event.job] if isinstance(event, Arrival) else []
                return []
            self.scan_s += 60.0
            return super().decide(event, state, policy, rng)

        def next_scan_s(self):
            return self.scan_s if self.jobs else None

    found = lives([job(1, 100, 10, (8,)), job(2, 150, 10, (8,))], clusters=[32], queue=EveryMinute)
    assert found == {1: (100, 110, (0,)), 2: (150, 160, (0,))}


# Fixed requests.


def fixed(components, clusters):
    return [StreamJob(1, 0.0, 10.0, JobRequest(RequestKind.FIXED, components, clusters))]


def test_under_a_discipline_of_ones_own_a_fixed_request_goes_where_it_says():
    assert lives(fixed((8,), (1,)), clusters=[32, 16], queue=OneByOne, policy="wf-distinct") == {1: (0, 10, (1,))}


def test_a_fixed_request_may_name_a_cluster_twice_under_a_policy_that_would_not():
    found = lives(fixed((8, 8), (0, 0)), clusters=[32], queue="placement", policy="wf-distinct")
    assert found == {1: (0, 10, (0, 0))}
    with pytest.raises(ImpossibleRequest, match="can never be placed"):
        lives(fixed((20, 20), (0, 0)), clusters=[32], queue="placement", policy="wf-distinct")


@pytest.mark.parametrize(
    "options", [{"clusters": []}, {"clusters": [0]}, {"occupied": [33, 0, 0, 0]}, {"occupied": [1]}, {"runtime": -1.0}]
)
def test_a_system_that_cannot_be_is_refused(options):
    with pytest.raises(InvalidInput):
        simulate([job(1, 0, 1, (1,))], **({"clusters": FOUR_BY_32, "queue": "gs"} | options))


def test_a_run_ends_early_when_too_many_jobs_wait():
    jobs = (job(number, number, 100, (32,) * 4) for number in range(10**9))
    statistics = simulate(jobs, clusters=FOUR_BY_32, queue="gs", most_waiting=50).statistics
    assert statistics.saturated
    assert statistics.waiting_at_last_arrival == 51


@settings(max_examples=20)
@given(st.sampled_from(["gs", "ls-do", "ls-ro", "gp", "lp-gf", "placement"]), st.integers(0, 10**6))
def test_never_more_processors_in_use_than_there_are_and_nobody_is_lost(name, seed):
    jobs = random_jobs(seed, count=60)
    result = simulate(jobs, clusters=FOUR_BY_32, queue=name, keep_jobs=True)
    assert sorted(finished_job.id for finished_job in result.finished) == [stream_job.id for stream_job in jobs]
    timestamps = sorted({finished_job.start_s for finished_job in result.finished})
    for timestamp in timestamps:
        in_use = [0] * 4
        for finished_job in result.finished:
            if finished_job.start_s <= timestamp < finished_job.finish_s:
                for cluster, size in zip(finished_job.clusters, finished_job.components, strict=True):
                    in_use[cluster] += size
        assert max(in_use) <= 32


def test_a_job_holds_its_processors_until_they_are_released_some_time_after_its_end():
    """The next job waits for the release at 60; the first one's execution time stays 50."""
    result = simulate(
        [job(1, 0, 50, (32,)), job(2, 5, 20, (32,))], clusters=(32,), queue="gs", keep_jobs=True, release_s=10.0
    )
    first, second = result.finished
    assert (first.start_s, first.finish_s, first.released_s) == (0, 50, 60)
    assert (second.start_s, second.finish_s, second.released_s) == (60, 80, 90)


def test_the_makespan_ends_with_the_job_that_finishes_last_not_with_that_released_last():
    jobs = [job(1, 0, 103, (8,)), job(2, 0, 100, (8,))]
    result = simulate(jobs, clusters=(32,), queue="gs", keep_jobs=True, release_s=[5.0, 0.0])
    assert [(each.id, each.finish_s) for each in result.finished] == [(1, 103), (2, 100)]
    assert result.statistics.makespan_s == 103
