"""What Heat's master distributes and collects once, in one cluster and over several."""

import pytest

from emulator.fidelity.iteration.once import PassedOnce
from emulator.fidelity.iteration.predicted import ModelJob
from emulator.model.catalogue import topology_named
from emulator.model.link_queues import LEAST_TIMEOUT_S
from emulator.model.units import rate_bytes_per_s

DAS2 = topology_named("das2-2006")
GRID = 3600
BYTES = GRID**2 * 8
SHARE = 0.05
MANY = 1000
"""More iterations than ranks."""


def once_s(*parts: tuple[str, int], share: float = SHARE, iterations: int = MANY, application: str = "heat") -> float:
    job = ModelJob(application, GRID, parts, arguments={"distributed-share": share})
    return PassedOnce(DAS2, job).takes_s(iterations)


def test_in_one_cluster_the_master_passes_on_everything_twice_at_its_interfaces_rate():
    costs = DAS2.interconnects.single_cluster
    expected_s = 2 * (SHARE * BYTES / rate_bytes_per_s(costs.rate_mbit) + 35 * costs.message_s + costs.latency_s)
    assert once_s(("vrije-universiteit", 36)) == pytest.approx(expected_s, rel=0.03)


def test_a_short_job_is_distributed_and_collected_while_others_compute():
    """Rank 1 needs nothing from the last ranks in ten iterations, so that it begins and ends them before those."""
    alone = ("vrije-universiteit", 72)
    few_s, more_s, many_s = (once_s(alone, iterations=iterations) for iterations in (10, 40, 71))
    assert few_s < more_s < many_s
    assert once_s(alone, iterations=72) == once_s(alone, iterations=500)


def test_over_two_clusters_the_masters_own_cluster_binds_if_it_has_most_of_the_ranks():
    """Measured live on this topology: the job took 1.68 s longer than its iterations."""
    assert once_s(("utrecht", 45), ("delft", 19)) == pytest.approx(1.68, rel=0.03)


def test_over_two_clusters_the_access_link_binds_if_all_others_are_far():
    far_s = SHARE * BYTES / rate_bytes_per_s(100)
    assert once_s(("leiden", 1), ("delft", 24)) == pytest.approx(2 * far_s, rel=0.15)


@pytest.mark.parametrize(
    ("parts", "live_s"),
    [
        ((4, 32), 0.174), ((4, 48), 0.487), ((32, 16, 16), 0.174), ((36, 18, 18), 0.176), ((12, 12, 12), 0.322),
        ((24, 24, 24), 0.509), ((9, 9, 9, 9), 0.331),
    ],
)  # fmt: skip
def test_a_hundredth_of_the_grid_takes_what_it_took_live(parts, live_s):
    """Medians of jobs of 15 steps, which ran alone: what they took longer than 15 iterations."""
    names = ("vrije-universiteit", "delft", "utrecht", "amsterdam")
    assert once_s(*zip(names, parts, strict=False), share=0.01, iterations=15) == pytest.approx(live_s, rel=0.08)


def test_where_many_ranks_are_far_tcp_waits_for_its_least_timeout_at_both_ends():
    few_s, many_s = once_s(("leiden", 4), ("delft", 32), share=0.01), once_s(("leiden", 4), ("delft", 48), share=0.01)
    assert many_s - few_s == pytest.approx(2 * LEAST_TIMEOUT_S, rel=0.3)


def test_what_passes_nothing_on_takes_no_time():
    assert once_s(("leiden", 36), application="laplace") == 0
    assert once_s(("leiden", 1)) == 0


@pytest.mark.parametrize("name", ["mini", "das2-2003", "cisne-four"])
def test_little_data_of_a_job_that_mostly_communicates_takes_little_time(name):
    topology = topology_named(name)
    parts = tuple((cluster.name, 4) for cluster in topology.clusters)
    once = PassedOnce(topology, ModelJob("heat", 40, parts, arguments={"distributed-share": 0.001}))
    assert 0 < once.takes_s(MANY) < 0.05
