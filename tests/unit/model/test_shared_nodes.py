"""Topologies whose nodes are shared in time: what they say, and what contradicts them."""

from __future__ import annotations

import pytest

from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.campaigns.workload_sources import prepared
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.topology import Topology
from emulator.model.units import BYTES_PER_MEGABYTE
from emulator.policies.nodes.stated import empty_nodes, node_states, stated_limits, stated_users

SHARED = topology_named("cisne-shared")


def stated(**changes: object) -> dict[str, object]:
    return SHARED.model_dump(mode="json", by_alias=True, exclude_none=True) | changes


def test_a_node_takes_as_many_tasks_as_it_states_processors():
    assert SHARED.time_sharing is not None
    assert (SHARED.time_sharing.rule, SHARED.clusters[0].processors_per_node) == ("ccs", 4)
    assert SHARED.processors == 64
    assert Topology.model_validate(stated(time_sharing={})).time_sharing.rule == "linux"
    assert Topology.model_validate(stated(time_sharing={"rule": "DCS"})).time_sharing.rule == "dcs"


def users(local_users: dict[str, str]) -> dict[str, object]:
    (cluster,) = stated()["clusters"]
    return {"clusters": [cluster | {"local_users": local_users}]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"time_sharing": {"rule": "lottery"}}, "there is no time-sharing rule 'lottery'"),
        ({"nodes": "exclusive"}, "time_sharing: nodes that are exclusive are not shared"),
        ({"whole_nodes": {"single_cluster": 16}}, "whole_nodes: where tasks share nodes, no job gets whole ones"),
        ({"processor": {"name": "native", "unpaced": True}}, "an unpaced processor is shared as the host does it"),
        ({"time_sharing": {"parallel_share": 1.5}}, "less than or equal to 1"),
        ({"time_sharing": None}, "local_users: cluster 'cisne' has people at its nodes, who need time_sharing"),
        (users({"n17": "internet"}), "local_users: cluster 'cisne' has no node 'n17' .it has n1 to n16."),
        (users({"n1": "gamer"}), "local_users: there is no local user's profile 'gamer'"),
        (
            {"clusters": [{"name": "das", "nodes": 2, "ssh": {"address": "me@das5", "key": "/key"}}]},
            "cluster 'das' is real",
        ),
    ],
)
def test_what_contradicts_time_sharing_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        Topology.model_validate(stated(**changes))


def test_a_simulation_that_would_give_each_task_a_processor_is_refused():
    with pytest.raises(InvalidInput, match=r"'cisne-shared': time_sharing: .*`testbed share`"):
        prepared("SIT", SimulationOptions())


def test_shared_jobs_are_simulated_on_the_same_topology():
    ((*nodes,),) = node_states(SHARED, ())
    assert len(nodes) == 16


def test_the_users_that_a_topology_states_are_those_of_a_simulation():
    found = stated_users(SHARED)
    assert [(user.cluster, user.node, user.profile.name) for user in found] == [
        (0, 1, "xwindows"), (0, 5, "internet"), (0, 10, "xwindows"), (0, 13, "xwindows")
    ]  # fmt: skip
    ((*nodes,),) = node_states(SHARED, found)
    assert [node.local_share for node in nodes if node.has_local_users] == [0.15, 0.2, 0.15, 0.15]


@pytest.mark.parametrize("parallel_share", [0.0, 0.3, 0.5, 1.0])
def test_policies_and_slurm_leave_jobs_the_same_memory_beside_users(parallel_share):
    topology = Topology.model_validate(stated(time_sharing={"parallel_share": parallel_share}))
    (cluster,) = topology.clusters
    beside_users_mb = topology.time_sharing.memory_beside_users_mb(cluster.node_memory_mb, cluster.local_users)
    limits = stated_limits(topology)
    ((*nodes,),) = empty_nodes(topology)
    granted_mb = {
        f"n{number}": limits.memory_for_jobs(node) / BYTES_PER_MEGABYTE
        for number, node in enumerate(nodes, start=1)
        if node.has_local_users
    }
    assert beside_users_mb == pytest.approx(granted_mb)
    assert beside_users_mb["n6"] == pytest.approx(min(parallel_share, 0.4) * 512)
