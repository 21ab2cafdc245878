"""Iterations that are predicted once for all jobs that are alike: the values are those of each job by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.registry import APPLICATIONS
from emulator.fidelity.iteration.predicted import ModelJob, predicted
from emulator.fidelity.iteration.remembered import Iterations, interchangeable, iterations_on
from emulator.model.catalogue import topology_named
from emulator.model.errors import UnknownName
from emulator.model.topology import Link

DAS2 = topology_named("das2-2006")
NAMES = DAS2.cluster_names
ITERATIONS = iterations_on(DAS2)


@given(
    application=st.sampled_from(["poisson", "heat"]),
    names=st.permutations(NAMES),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    grid=st.sampled_from([200, 300]),
)
def test_a_job_takes_what_it_takes_without_the_memory(application, names, sizes, grid):
    parts = tuple(zip(names, sizes, strict=False))
    alone = predicted(DAS2, ModelJob(application, grid, parts, arguments={"grid": grid}))
    found = ITERATIONS.over(application, {"grid": grid}, parts)
    assert (found.iteration_s, found.computing_share) == (alone.iteration_s, alone.computing_share)


@pytest.mark.parametrize("application", sorted(APPLICATIONS))
def test_an_iteration_does_not_depend_on_the_number_of_iterations(application):
    descriptor, parts = APPLICATIONS[application], ((NAMES[0], 2), (NAMES[2], 2))
    stated = {"grid": 240} if descriptor.has_grid else {}
    short, long = (
        predicted(DAS2, ModelJob(application, 240, parts, arguments={**stated, descriptor.length: length}))
        for length in (1, 1000)
    )
    assert short == long


@given(
    application=st.sampled_from(["laplace", "heat"]), iterations=st.integers(1, 3000), share=st.sampled_from([1, 0.01])
)
def test_a_job_that_executes_as_long_as_some_iterations_makes_so_many(application, iterations, share):
    arguments = {"grid": 1200, **({"distributed-share": share} if application == "heat" else {})}
    job = ITERATIONS.over(application, arguments, ((NAMES[0], 36),))
    assert job.iterations_in(job.execution_s(iterations)) == pytest.approx(iterations)


def test_a_job_too_short_for_what_it_passes_on_makes_no_iteration():
    job = ITERATIONS.over("heat", {"grid": 3600}, ((NAMES[0], 36),))
    assert job.iterations_in(1.0) == 0


def test_clusters_are_interchangeable_if_their_links_and_nodes_are():
    assert interchangeable(DAS2) == {
        **dict.fromkeys(("vrije-universiteit", "amsterdam"), ("vrije-universiteit", "amsterdam")),
        **dict.fromkeys(("delft", "utrecht", "leiden"), ("delft", "utrecht", "leiden")),
    }


def test_a_link_of_one_way_a_slower_link_or_smaller_nodes_set_clusters_apart():
    one_way = Link.model_validate({"from": "delft", "to": "leiden", "delay_s": 0.5, "one_way": True})
    found = interchangeable(DAS2.model_copy(update={"links": (*DAS2.links, one_way)}))
    assert [found[name] for name in ("delft", "leiden", "utrecht")] == [("delft",), ("leiden",), ("utrecht",)]
    for change in ({"processors_per_node": 1}, {"stated_access_link": DAS2.clusters[4].access_link.model_copy(
        update={"up_mbit": 10.0}
    )}):  # fmt: skip
        changed = DAS2.clusters[4].model_copy(update=change)
        found = interchangeable(DAS2.model_copy(update={"clusters": (*DAS2.clusters[:4], changed)}))
        assert found["leiden"] == ("leiden",)
        assert found["delft"] == ("delft", "utrecht")


def test_alike_jobs_are_predicted_once_on_equal_topologies(monkeypatch):
    asked = []

    def counted(topology, job):
        asked.append(job)
        return predicted(topology, job)

    monkeypatch.setattr("emulator.fidelity.iteration.remembered.predicted", counted)
    iterations = Iterations(DAS2)
    for first, second in (("delft", "leiden"), ("leiden", "utrecht"), ("utrecht", "delft")):
        for length in (10, 20):
            iterations.over("poisson", {"grid": 100, "iterations": length}, ((first, 4), (second, 2)))
    assert len(asked) == 1
    iterations.over("poisson", {"grid": 100}, (("delft", 2), ("leiden", 4)))
    iterations.over("poisson", {"grid": 100}, (("amsterdam", 4), ("leiden", 2)))
    iterations.over("poisson", {"grid": 100, "exchange": "overlapped"}, (("delft", 4), ("leiden", 2)))
    assert len(asked) == 4
    assert iterations_on(topology_named("das2-2006")) is iterations_on(DAS2)


def test_a_cluster_that_does_not_exist_is_refused():
    with pytest.raises(UnknownName, match="nowhere"):
        ITERATIONS.over("poisson", {"grid": 100}, (("nowhere", 4),))
