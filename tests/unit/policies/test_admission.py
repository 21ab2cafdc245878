"""Admission: a job names its queue where the discipline needs it, and is of a kind that somebody places."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.job import JobSpecification
from emulator.model.rules import StatedRules
from emulator.policies.admission import Admitting
from emulator.policies.placement.worst_fit import WorstFit

MINI = topology_named("mini")
CISNE = topology_named("cisne-shared")


def specification(*components: int, queue: str | None = None) -> JobSpecification:
    return JobSpecification(application="poisson", components=components, queue=queue)


@pytest.mark.parametrize("components", [(4,), (4, 4)])
def test_a_discipline_with_local_queues_only_needs_no_other_statement(components):
    asked = SimpleNamespace(discipline=SimpleNamespace(has_local_queues_only=True), policy=WorstFit())
    admitting = Admitting(MINI, "mine.py:Mine", "wf", StatedRules(), asked=asked)
    assert admitting.admit(1, specification(*components, queue="delft")).queue == 1
    with pytest.raises(InvalidInput, match="has a queue per cluster, so name the one"):
        admitting.admit(1, specification(*components))


def test_single_component_jobs_of_local_queues_are_of_any_kind():
    admitting = Admitting(MINI, "gp", "fcm", StatedRules())
    assert admitting.admit(1, specification(4, queue="delft")).request.components == (4,)
    with pytest.raises(InvalidInput, match="'fcm' does not place"):
        admitting.admit(1, specification(4, 4))
    with pytest.raises(InvalidInput, match="'fcm' does not place"):
        Admitting(MINI, "gs", "fcm", StatedRules()).admit(1, specification(4))


def needing(memory_mb: float) -> JobSpecification:
    return JobSpecification(application="synthetic", components=(2,), memory_mb=memory_mb)


def test_a_task_that_needs_more_memory_than_a_node_has_is_refused_also_if_slurm_chooses_the_nodes():
    admitting = Admitting(CISNE, "gs", "wf", StatedRules())
    assert admitting.admit(1, needing(512)).request.memory_bytes == 512_000_000
    with pytest.raises(ImpossibleRequest, match="no node can hold a task of 513 MB: those of 'cisne-shared' have 512"):
        admitting.admit(1, needing(513))


def test_people_at_all_nodes_leave_less_memory_to_a_task():
    (cluster,) = CISNE.clusters
    for other, most_mb in (("xwindows", 256), ("internet", 204.8)):
        crowded = cluster.model_copy(update={"nodes": 2, "local_users": {"n1": "internet", "n2": other}})
        admitting = Admitting(CISNE.model_copy(update={"clusters": (crowded,)}), "gs", "wf", StatedRules())
        assert admitting.admit(1, needing(204)).request.memory_bytes == 204_000_000
        with pytest.raises(ImpossibleRequest, match=f"those of 'cisne-shared' have {most_mb} MB at most"):
            admitting.admit(1, needing(257))


def test_memory_does_not_count_where_a_cluster_states_none_or_tasks_share_no_nodes():
    (cluster,) = CISNE.clusters
    uncounted = cluster.model_copy(update={"name": "other", "node_memory_mb": None})
    for topology in (MINI, CISNE.model_copy(update={"clusters": (cluster, uncounted)})):
        assert Admitting(topology, "gs", "wf", StatedRules()).admit(1, needing(100_000))
