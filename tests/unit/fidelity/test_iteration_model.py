"""The model of an iteration: by hand where that is possible, and how it must depend on what a job is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.registry import APPLICATIONS
from emulator.fidelity.iteration.predicted import ModelJob, Predicted, predicted
from emulator.model.catalogue import topology_named
from emulator.model.collectives import Collectives, WholeNodes
from emulator.model.interconnects import Interconnects, WhichInterconnect
from emulator.model.processor import Processor

DAS2 = topology_named("das2-2003")
NAMES = DAS2.cluster_names
PLAIN = Processor(name="plain", in_cache_ns_per_point=100, out_of_cache_ns_per_point=100, cache_bytes=1)


def bare(**changes: object):
    """The clusters without interconnects and spread, 100 ns a point."""
    return DAS2.model_copy(
        update={
            "processor": PLAIN, "interconnects": Interconnects(), "collectives": Collectives(),
            "whole_nodes": WholeNodes(), **changes,
        }
    )  # fmt: skip


def job(grid: int, *sizes: int, **more: object) -> ModelJob:
    return ModelJob("poisson", grid, tuple(zip(NAMES, sizes, strict=False)), **more)


def iteration_s(grid: int, *sizes: int, **more: object) -> float:
    return predicted(DAS2, job(grid, *sizes, **more)).iteration_s


def test_a_process_alone_only_computes():
    found = predicted(bare(), job(100, 1))
    assert found.iteration_s == found.compute_s == pytest.approx(10_000 * 100e-9)
    assert (found.border_exchange_s, found.meeting_s) == (0.0, 0.0)


def test_without_an_interconnect_messages_inside_a_cluster_take_no_time():
    assert predicted(bare(), job(100, 16)).iteration_s == pytest.approx(625 * 100e-9)


def test_two_processes_of_two_clusters_cross_the_wide_area_four_times():
    topology = bare()
    found = predicted(topology, job(100, 1, 1))
    delay_s = topology.path(*NAMES[:2]).delay_s
    # Borders of 100 points and values of 32 bytes, with headers, at 100 Mbit/s.
    bytes_s = (2 * (800 + 24 + 66) + 2 * (32 + 24 + 66)) * 8 / 100e6
    assert found.iteration_s == pytest.approx(5000 * 100e-9 + 4 * delay_s + bytes_s, rel=1e-6)


def test_two_processes_of_a_cluster_exchange_two_borders_and_meet():
    interconnect = DAS2.interconnects.single_cluster
    found = predicted(bare(interconnects=DAS2.interconnects), job(100, 2))
    hop_s = interconnect.latency_s + interconnect.message_s
    byte_s = 8 / (interconnect.rate_mbit * 1e6)
    assert found.iteration_s == pytest.approx(5000 * 100e-9 + 4 * hop_s + 2 * (800 + 32) * byte_s, rel=1e-6)


def test_parts_add_up():
    for sizes in ((16,), (8, 8), (4, 4, 4, 4)):
        found = predicted(DAS2, job(400, *sizes))
        assert found.compute_s + found.border_exchange_s + found.meeting_s == pytest.approx(found.iteration_s, rel=0.02)


def test_a_flat_collection_over_the_wide_area_crosses_it_no_more_often_than_a_tree():
    tree, flat = (
        predicted(bare(collectives=Collectives(pattern=pattern)), job(100, 8, 8)).meeting_s
        for pattern in ("tree", "flat")
    )
    assert tree <= flat < 1.1 * tree


def test_a_flat_collection_inside_a_cluster_takes_a_message_for_each_process():
    meetings_s = {
        pattern: predicted(bare(interconnects=DAS2.interconnects, collectives=Collectives(pattern=pattern)),
                           job(400, 64)).meeting_s
        for pattern in ("tree", "binomial", "flat")
    }  # fmt: skip
    message_s = DAS2.interconnects.single_cluster.message_s
    assert meetings_s["flat"] > 63 * message_s > meetings_s["tree"]
    hop_s = message_s + DAS2.interconnects.single_cluster.latency_s
    assert meetings_s["binomial"] == pytest.approx(12 * hop_s, rel=0.3)


def test_what_shares_a_node_s_memory_computes_longer():
    alone, beside = (iteration_s(4000, 16, processors_per_node=count) for count in (1, 2))
    assert 1.08 < beside / alone < 1.2


def test_a_process_left_alone_on_the_last_node_waits_for_the_others():
    assert iteration_s(4000, 16) == pytest.approx(iteration_s(4000, 16, processors_per_node=2))
    odd = predicted(DAS2, job(1000, 9, 7))
    assert odd.compute_s == pytest.approx(predicted(DAS2, job(1000, 8, 8)).compute_s)


def test_small_jobs_have_nodes_of_their_own_if_the_topology_says_so():
    assert iteration_s(4000, 8) == pytest.approx(iteration_s(4000, 8, processors_per_node=1))
    assert iteration_s(4000, 4, 4) == pytest.approx(iteration_s(4000, 4, 4, processors_per_node=2))


def test_messages_take_longer_among_many_if_they_vary():
    assert Collectives(spread=0.5).stretch(2) == 1.0
    assert Collectives(spread=0.5).stretch(16) == pytest.approx(2.5)
    assert Collectives().stretch(64) == 1.0


def test_overlapped_borders_cross_the_wide_area_at_once():
    steps, overlapped = (
        predicted(DAS2, job(400, 8, 8, arguments={"exchange": mode})).border_exchange_s
        for mode in ("steps", "overlapped")
    )
    assert overlapped < 0.7 * steps


def test_an_uneven_split_is_predicted():
    even, uneven = iteration_s(960, 24, 24), iteration_s(960, 36, 12)
    assert uneven == pytest.approx(even, rel=0.1)
    assert iteration_s(960, 24, 16, 8) > iteration_s(960, 48)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_application_is_predicted(application: str):
    arguments = {"compute-s": 0.01, "collective-every": 1} if application == "synthetic" else {}
    alone, split = (
        predicted(DAS2, ModelJob(application, 64, parts, arguments=arguments))
        for parts in (((NAMES[0], 4),), ((NAMES[0], 2), (NAMES[1], 2)))
    )
    assert 0.0 < alone.compute_s <= alone.iteration_s < split.iteration_s


def ensflow(grid: int = 64, **arguments: int) -> ModelJob:
    stated = {name.replace("_", "-"): value for name, value in arguments.items()}
    return ModelJob("ensflow", grid, ((NAMES[0], 6), (NAMES[1], 6)), arguments=stated)


def test_an_ensemble_of_other_size_evolves_and_exchanges_its_own_members():
    usual, twice = predicted(DAS2, ensflow()), predicted(DAS2, ensflow(members=120))
    assert predicted(DAS2, ensflow(members=60)) == usual
    assert twice.compute_s == pytest.approx(2 * usual.compute_s)
    assert 1.5 * usual.meeting_s < twice.meeting_s <= 2.0 * usual.meeting_s


def test_an_ensemble_meets_as_often_as_its_job_says():
    usual, often = predicted(DAS2, ensflow()), predicted(DAS2, ensflow(analysis_every_days=5))
    assert predicted(DAS2, ensflow(analysis_every_days=10)) == usual
    assert often.meeting_s == pytest.approx(2 * usual.meeting_s)
    assert often.compute_s == usual.compute_s


def test_a_synthetic_job_sums_as_often_as_it_says_and_by_default_never():
    parts = ((NAMES[0], 8), (NAMES[1], 8))

    def synthetic(**arguments: float) -> Predicted:
        stated = {name.replace("_", "-"): value for name, value in arguments.items()}
        return predicted(DAS2, ModelJob("synthetic", 0, parts, arguments={"compute-s": 0.01, **stated}))

    assert (synthetic().meeting_s, synthetic().iteration_s) == (0.0, pytest.approx(0.01))
    often, rare = synthetic(collective_every=1), synthetic(collective_every=4)
    assert often.meeting_s > 0.002
    assert rare.meeting_s == pytest.approx(often.meeting_s / 4, rel=0.2)


def test_a_rare_meeting_costs_its_share():
    parts = ((NAMES[0], 8), (NAMES[1], 8))
    laplace = predicted(DAS2, ModelJob("laplace", 400, parts))
    assert laplace.meeting_s == pytest.approx(predicted(DAS2, job(400, 8, 8)).meeting_s / 20, rel=0.2)


@settings(max_examples=30, deadline=None)
@given(st.integers(64, 2000), st.integers(64, 2000), st.sampled_from([(16,), (8, 8), (4, 4, 4, 4), (5, 11)]))
def test_a_larger_grid_never_takes_less(first: int, second: int, sizes: tuple[int, ...]):
    smaller, larger = sorted((16 * (first // 16), 16 * (second // 16)))
    assert iteration_s(smaller, *sizes) <= iteration_s(larger, *sizes) + 1e-9


@settings(max_examples=30, deadline=None)
@given(st.floats(0.0, 0.01), st.floats(0.0, 0.01), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_longer_delays_and_more_spread_never_take_less(first_s: float, second_s: float, one: float, other: float):
    def taken_s(delay_s: float, spread: float) -> float:
        topology = DAS2.model_copy(
            update={
                "default_link": DAS2.default_link.model_copy(update={"delay_s": delay_s}),
                "collectives": Collectives(pattern="binomial", spread=spread),
            }
        )
        return predicted(topology, job(400, 8, 8)).iteration_s

    least, most = taken_s(min(first_s, second_s), min(one, other)), taken_s(max(first_s, second_s), max(one, other))
    assert least <= most + 1e-12


@settings(max_examples=20, deadline=None)
@given(st.sampled_from([8, 16, 32, 64]), st.sampled_from([100, 400, 1000]))
def test_a_job_over_ethernet_takes_longer_and_one_over_two_clusters_longer_still(processors: int, grid: int):
    alone_s = iteration_s(grid, processors, processors_per_node=2)
    ethernet_s = iteration_s(grid, processors, which=WhichInterconnect.COALLOCATED, processors_per_node=2)
    assert alone_s < ethernet_s < iteration_s(grid, processors // 2, processors // 2)


def test_a_meeting_among_more_processes_never_takes_less():
    meetings_s = [predicted(DAS2, job(640, count)).meeting_s for count in (1, 2, 4, 8, 16, 32, 64)]
    assert meetings_s == sorted(meetings_s)
