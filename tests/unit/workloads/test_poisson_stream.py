"""Poisson streams: common random numbers between policies and loads, whatever is drawn beside them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

from emulator.model.errors import InvalidInput
from workloads.compositions import COMPOSITIONS, composition_named
from workloads.home_queues import rehomed
from workloads.poisson_stream import CHUNK, PoissonStream
from workloads.service_times import ConstantService, ExponentialService, HyperexponentialService

MIX = composition_named("80-0-0-20-unbalanced").mix()


def test_there_are_ten_published_compositions() -> None:
    assert len(COMPOSITIONS) == 10
    for composition in COMPOSITIONS.values():
        assert sum(composition.percentages) == 100
        classes = composition.mix().classes
        assert sum(job_class.probability * job_class.request.processors for job_class in classes) == pytest.approx(
            3.996 * sum(n * share / 100 for n, share in enumerate(composition.percentages, 1)), rel=1e-3
        )


def test_the_first_jobs_are_the_same_however_many_follow() -> None:
    stream = PoissonStream(MIX, rate_per_s=2.0)
    assert list(stream.jobs(10, seed=3)) == list(islice(stream.jobs(CHUNK + 5, seed=3), 10))


def test_at_another_rate_the_same_jobs_come_at_scaled_moments() -> None:
    slow, fast = (list(PoissonStream(MIX, rate).jobs(1000, seed=3)) for rate in (1.0, 4.0))
    assert [replace(job, arrival_s=0) for job in slow] == [replace(job, arrival_s=0) for job in fast]
    assert [job.arrival_s / 4 for job in slow] == pytest.approx([job.arrival_s for job in fast])


def test_only_jobs_that_their_cluster_cannot_hold_get_another_queue() -> None:
    jobs = list(PoissonStream(MIX, rate_per_s=2.0).jobs(1000, seed=3))
    assert list(rehomed(jobs, [32] * 4, seed=3)) == jobs
    moved = list(rehomed(jobs, [4, 32, 32, 32], seed=3))
    assert [replace(job, queue=0) for job in moved] == [replace(job, queue=0) for job in jobs]
    too_large = [job.queue == 0 and job.request.single_component and job.request.processors > 4 for job in jobs]
    assert any(too_large)
    for job, now, is_too_large in zip(jobs, moved, too_large, strict=True):
        assert (now.queue in (1, 2, 3)) if is_too_large else (now.queue == job.queue)


def test_another_service_distribution_changes_service_only() -> None:
    exponential = list(PoissonStream(MIX, 1.0).jobs(1000, seed=3))
    constant = list(PoissonStream(MIX, 1.0, ConstantService()).jobs(1000, seed=3))
    assert [replace(job, service_s=1.0) for job in exponential] == constant


def test_queues_receive_their_shares_and_jobs_their_rate() -> None:
    jobs = list(PoissonStream(MIX, 2.0, queue_shares=(0.4, 0.2, 0.2, 0.2)).jobs(40_000, seed=1))
    shares = Counter(job.queue for job in jobs)
    assert [shares[queue] / 40_000 for queue in range(4)] == pytest.approx([0.4, 0.2, 0.2, 0.2], abs=0.01)
    assert 40_000 / jobs[-1].arrival_s == pytest.approx(2.0, rel=0.02)
    assert sum(len(job.request.components) == 4 for job in jobs) / 40_000 == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("service", [ExponentialService(), HyperexponentialService(2.05)])
def test_service_has_mean_one_and_the_stated_variation(
    service: ExponentialService | HyperexponentialService,
) -> None:
    drawn = [job.service_s for job in PoissonStream(MIX, 1.0, service).jobs(200_000, seed=5)]
    mean = sum(drawn) / len(drawn)
    variance = sum((value - mean) ** 2 for value in drawn) / len(drawn)
    assert mean == pytest.approx(1.0, rel=0.02)
    assert variance**0.5 / mean == pytest.approx(service.coefficient_of_variation, rel=0.03)


@pytest.mark.parametrize(
    ("rate_per_s", "shares"), [(0.0, (1.0,)), (float("inf"), (1.0,)), (1.0, (0.5, 0.4)), (1.0, (1.5, -0.5))]
)
def test_a_stream_that_cannot_be_meant_is_refused(rate_per_s: float, shares: tuple[float, ...]) -> None:
    with pytest.raises(InvalidInput, match="job stream"):
        PoissonStream(MIX, rate_per_s, queue_shares=shares)
