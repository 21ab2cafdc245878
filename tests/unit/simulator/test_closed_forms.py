"""What queueing theory knows exactly, inside the engine's intervals; and the published ratio of gross to net."""

import math

import numpy
import pytest

from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.simulator import simulate
from emulator.simulator.statistics import MOST_BATCHES, Batches

FOUR_BY_32 = [32, 32, 32, 32]
JOBS = 60_000


def poisson_stream(components, rate_per_s, count=JOBS, seed=11):
    """Jobs with exponential service of mean 1 s, one request, spread evenly over four queues."""
    numbers = numpy.random.default_rng(seed)
    arrivals = numpy.cumsum(numbers.exponential(1 / rate_per_s, count)).tolist()
    services = numbers.exponential(1.0, count).tolist()
    queues = numbers.integers(4, size=count).tolist()
    request = JobRequest(RequestKind.UNORDERED, components)
    for number, (arrival_s, service_s, queue) in enumerate(zip(arrivals, services, queues, strict=True)):
        yield StreamJob(number, arrival_s, service_s, request, queue)


def response_of_mmc_s(servers, rate_per_s):
    """Mean response time of M/M/c with service rate 1 (Erlang C)."""
    load = rate_per_s / servers
    terms = [rate_per_s**k / math.factorial(k) for k in range(servers)]
    last = rate_per_s**servers / math.factorial(servers) / (1 - load)
    return 1 + last / (sum(terms) + last) / (servers - rate_per_s)


@pytest.mark.parametrize(
    ("components", "queue", "servers", "lines"),
    [
        pytest.param((32, 32, 32, 32), "gs", 1, 1, id="every job 128 processors: M/M/1"),
        pytest.param((32, 32, 32, 32), "ls-do", 1, 1, id="every job 128 processors, LS: M/M/1"),
        pytest.param((16, 16, 16, 16), "gs", 2, 1, id="every job (16,16,16,16): M/M/2"),
        pytest.param((32,), "gs", 4, 1, id="single-component 32, GS: M/M/4"),
        pytest.param((32,), "ls-do", 1, 4, id="single-component 32, LS: four M/M/1"),
        pytest.param((32,), "lp-gf", 1, 4, id="single-component 32, LP: four M/M/1"),
    ],
)
def test_mean_response_lies_in_the_interval(components, queue, servers, lines):
    """A 95% interval misses once in twenty times, so one of four seeds may."""
    load = 0.6
    rate_per_s = load * servers * lines
    expected_s = response_of_mmc_s(servers, rate_per_s / lines)
    hits = 0
    for seed in range(4):
        jobs = poisson_stream(components, rate_per_s, JOBS // 2, seed)
        statistics = simulate(jobs, clusters=FOUR_BY_32, queue=queue, warm_up_jobs=JOBS // 20).statistics
        hits += statistics.response_s.low <= expected_s <= statistics.response_s.high
        assert statistics.gross_utilization == pytest.approx(load, rel=0.05)
        assert not statistics.saturated
    assert hits >= 3


def test_saturation_is_seen_and_utilization_is_then_the_maximal_one():
    """M/M/2 at load 1.1 is busy all the time; at 0.9 nothing grows."""
    beyond = simulate(poisson_stream((16, 16, 16, 16), 2.2), clusters=FOUR_BY_32, queue="gs").statistics
    assert beyond.saturated
    assert beyond.gross_utilization == pytest.approx(1, abs=0.01)
    assert beyond.waiting_at_last_arrival == pytest.approx(JOBS * 0.1 / 1.1, rel=0.2)
    assert not simulate(poisson_stream((16, 16, 16, 16), 1.8), clusters=FOUR_BY_32, queue="gs").statistics.saturated


# Gross and net.

DAS_S_128_SURROGATE = {
    1: 0.091, 2: 0.130, 3: 0.014, 4: 0.087, 5: 0.009, 6: 0.012, 8: 0.066, 10: 0.011, 12: 0.003, 16: 0.090, 18: 0.201,
    24: 0.024, 28: 0.003, 32: 0.039, 40: 0.009, 56: 0.001, 64: 0.190, 68: 0.003, 105: 0.005, 128: 0.012,
}  # fmt: skip


def split(size, limit):
    parts = min(math.ceil(size / limit), 4)
    return tuple(sorted((size // parts + (part < size % parts) for part in range(parts)), reverse=True))


@pytest.mark.parametrize(("limit", "published"), [(16, 1.218), (24, 1.173), (32, 1.159)])
def test_c19_gross_over_net_of_the_log_under_component_limits(limit, published):
    """Every multicomponent job takes 1.25 times as long; simulated, and exactly as the ratio of the sums."""
    sizes, shares = list(DAS_S_128_SURROGATE), list(DAS_S_128_SURROGATE.values())
    weights = [1.25 if len(split(size, limit)) > 1 else 1.0 for size in sizes]
    gross = math.fsum(share * size * weight for share, size, weight in zip(shares, sizes, weights, strict=True))
    assert gross / math.fsum(map(math.prod, zip(shares, sizes, strict=True))) == pytest.approx(published, abs=5e-4)

    numbers = numpy.random.default_rng(3)
    requests = [JobRequest(RequestKind.UNORDERED, split(size, limit)) for size in sizes]
    drawn = numbers.choice(len(sizes), size=JOBS, p=numpy.array(shares) / sum(shares)).tolist()
    jobs = [StreamJob(number, 30.0 * number, 10.0, requests[kind], 0) for number, kind in enumerate(drawn)]
    statistics = simulate(jobs, clusters=FOUR_BY_32, queue="gs", runtime=1.25).statistics
    assert statistics.gross_over_net == pytest.approx(published, abs=3e-3)


# What is kept.


def test_batches_join_neighbours_when_they_are_full():
    batches = Batches()
    for number in range(3 * MOST_BATCHES):
        batches.add(number, float(number))
    assert batches.batch_jobs == 4
    assert batches.jobs[:96] == [4] * 96
    assert sum(batches.jobs) == 3 * MOST_BATCHES
    assert batches.sums[1] == 4 + 5 + 6 + 7


def test_warm_up_is_left_out_by_arrivals_and_the_window_ends_with_the_last_one():
    """Jobs of 8 processors for 5 s each 10 s; the first two do not count: one and a half of two windows of 10 s."""
    request = JobRequest(RequestKind.UNORDERED, (8,))
    jobs = [StreamJob(number, 10.0 * number, 5.0, request, 0) for number in range(4)]
    statistics = simulate(jobs, clusters=[8], queue="gs", warm_up_jobs=2).statistics
    assert (statistics.total.jobs, statistics.jobs_finished) == (2, 4)
    assert (statistics.window_s, statistics.gross_utilization) == (10.0, 0.5)
    assert statistics.makespan_s == 35.0


def test_nothing_depends_on_when_the_first_job_arrives():
    request = JobRequest(RequestKind.UNORDERED, (8,))
    found = []
    for first_s in (0.0, 1000.0):
        jobs = [StreamJob(number, first_s + 10.0 * number, 5.0, request, 0) for number in range(4)]
        found.append(simulate(jobs, clusters=[8], queue="gs").statistics)
    assert found[0] == found[1]


def test_local_and_global_times_and_those_of_each_queue():
    jobs = [
        StreamJob(0, 0.0, 4.0, JobRequest(RequestKind.UNORDERED, (8,)), 1),
        StreamJob(1, 0.0, 8.0, JobRequest(RequestKind.UNORDERED, (8, 8)), 3),
    ]
    statistics = simulate(jobs, clusters=FOUR_BY_32, queue="lp-gf", runtime=1.25).statistics
    assert (statistics.local.response_s, statistics.global_.response_s) == (4.0, 10.0)
    assert {queue: times.jobs for queue, times in statistics.by_queue.items()} == {1: 1, 3: 1}
