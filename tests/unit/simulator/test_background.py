"""Other users' jobs in a simulation: what they take, what they give back, and how their load is held in its band."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy
import pytest

from emulator.model.background import Background
from emulator.model.documents import validate
from emulator.model.errors import ImpossibleRequest
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.simulator import simulate
from emulator.simulator.background import SimulatedBackground
from tests.unit.simulator.test_engine import job, random_jobs

CLUSTERS = [32] * 4
TOLD = ("gs", "ls-do", "fcfs", "sjf", "ljf", "easy", "conservative")
"""Queues that are not scanned."""
NOTHING = {"band": [0, 0.01], "dummy": {"sizes": [1]}}
"""A band that needs no dummy job."""
LONG = {"sizes": [8], "lengths": {"low_s": 50_000, "high_s": 100_000}}
"""Dummy jobs that change seldom."""


class Local(NamedTuple):
    arrival_s: float
    cluster: int
    processors: int
    length_s: float


def load(*local: Local, seed: int = 0, **stated: object) -> SimulatedBackground:
    background = validate({**NOTHING, **stated}, Background, source="background")
    return SimulatedBackground(background, iter(local), CLUSTERS, numpy.random.default_rng(seed), 60.0)


def starts(jobs, background, queue="gs", clusters=CLUSTERS):
    finished = simulate(jobs, clusters=clusters, queue=queue, background=background, keep_jobs=True).finished
    return {each.id: each.start_s for each in finished}


def estimated(id, arrival_s, service_s, components):
    request = JobRequest(RequestKind.UNORDERED, components, estimate_s=service_s)
    return StreamJob(id, arrival_s, service_s, request, 0)


@pytest.mark.parametrize(("queue", "start_s"), [("placement", 54), *((queue, 50) for queue in TOLD)])
def test_a_job_waits_for_what_a_local_job_holds(queue, start_s):
    """At its end a queue is told, as live, unless it is scanned: every 4 s since the arrival."""
    held = [Local(0, cluster, 32, 50) for cluster in range(4)]
    waits_s = 0 if queue in TOLD else 4
    assert starts([estimated(1, 2, 5, (32,))], load(*held), queue) == {1: pytest.approx(start_s, abs=waits_s)}


def test_a_local_job_that_waits_comes_before_the_grids():
    jobs = [job(1, 0, 10, (32,) * 4), job(2, 1, 10, (32,) * 4)]
    waiting = Local(5, 0, 20, 30)
    assert starts(jobs, load(waiting)) == {1: 0, 2: 40}


def test_local_jobs_of_a_cluster_start_in_their_order():
    jobs = [job(1, 0, 10, (32,) * 4), job(2, 1, 5, (32,) * 4)]
    assert starts(jobs, load(Local(2, 1, 32, 10), Local(3, 1, 1, 10))) == {1: 0, 2: 30}


def test_dummy_jobs_hold_a_load_in_its_band_for_nearly_all_of_the_time():
    background = load(band=[0.3, 0.4])
    result = simulate(random_jobs(3), clusters=CLUSTERS, queue="gs", background=background)
    assert result.statistics.jobs_finished == 400
    assert result.background.share_in_band >= 0.95
    assert not result.background.is_void


def test_dummy_jobs_make_room_for_local_ones():
    local = [Local(100.0 * number, number % 4, 24, 60) for number in range(1, 40)]
    jobs = [job(number, 10.0 * number, 5, (4,)) for number in range(1, 400)]
    kept = simulate(jobs, clusters=CLUSTERS, queue="gs", background=load(*local, band=[0.2, 0.3])).background
    assert kept.share_in_band == 1.0


def test_local_jobs_above_the_band_for_more_than_a_minute_make_a_run_void():
    jobs = [job(1, 0, 300, (4,))]
    within = [Local(100, cluster, 16, 60) for cluster in range(4)]
    beyond = [Local(100, cluster, 16, 61) for cluster in range(4)]
    for local, void in ((within, False), (beyond, True)):
        kept = simulate(jobs, clusters=CLUSTERS, queue="gs", background=load(*local, band=[0.2, 0.3])).background
        assert kept.is_void is void


def test_a_simulation_ends_with_the_grids_last_job_though_local_jobs_arrive_for_ever():
    endless = (Local(5.0 * number, 0, 1, 3) for number in itertools.count())
    background = SimulatedBackground(
        validate(NOTHING, Background, source="background"), endless, CLUSTERS, numpy.random.default_rng(0), 60.0
    )
    assert starts([job(1, 7, 20, (8, 8))], background) == {1: 7}


def test_a_discipline_that_hides_its_waiting_jobs_does_not_simulate_other_users_for_ever():
    class Forgetful:
        def decide(self, event, state, policy, rng):
            return []

        def next_scan_s(self):
            return None

        def waiting(self):
            return []

    for background in (load(band=[0.2, 0.3], dummy=LONG), None):
        with pytest.raises(ImpossibleRequest, match="Job 1 still waits"):
            simulate([job(1, 0, 5, (4,))], clusters=CLUSTERS, queue=Forgetful, background=background)


def test_a_job_for_which_other_users_never_leave_room_is_said_to_wait_for_ever():
    with pytest.raises(ImpossibleRequest, match="Job 1 still waits though only jobs of the background load"):
        starts([job(1, 100, 5, (32,) * 4)], load(band=[0.3, 0.4], dummy=LONG))


@pytest.mark.parametrize("queue", ["gs", "ls-rd", "lp-rd", "placement"])
def test_the_same_seed_gives_the_same_simulation(queue):
    options = {"clusters": CLUSTERS, "queue": queue, "keep_jobs": True}
    first, second = (simulate(random_jobs(5), background=load(band=[0.2, 0.3], seed=2), **options) for _ in range(2))
    assert first.finished == second.finished
    assert first.background == second.background
    other = simulate(random_jobs(5), background=load(band=[0.2, 0.3], seed=3), **options)
    assert other.finished != first.finished


def test_no_processor_is_ever_held_twice():
    seen = []
    simulate(
        random_jobs(7),
        clusters=CLUSTERS,
        queue="gs",
        background=load(*[Local(3.0 * number, number % 4, 8, 20) for number in range(100)], band=[0.3, 0.4]),
        log=lambda time_s, event, answers, idle: seen.append(idle),
    )
    assert min(min(idle) for idle in seen) >= 0
    assert max(max(idle) for idle in seen) <= 32


def test_a_time_scale_divides_for_how_long_only_other_users_jobs_may_run():
    """The dummy jobs that are logged before the simulation gives up are then fewer by that factor."""

    def decisions(time_scale: float) -> int:
        seen: list[float] = []
        with pytest.raises(ImpossibleRequest, match="only jobs of the background load"):
            simulate(
                [job(1, 100, 5, (32,) * 4)], clusters=CLUSTERS, queue="gs", time_scale=time_scale,
                background=load(band=[0.3, 0.4], dummy=LONG), log=lambda time_s, *_: seen.append(time_s),
            )  # fmt: skip
        return len(seen)

    assert 0 < decisions(10.0) < decisions(1.0) / 5
