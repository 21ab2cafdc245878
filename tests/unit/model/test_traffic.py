"""Background traffic: shares of access links and local users, and the flows out of clusters that make them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.topology import AccessLink, Topology
from emulator.model.traffic import LARGEST_SHARE, USERS_FRAME_BYTES, carried_mbit, flows_of, parse_traffic, users_flows

MINI = topology_named("mini")
DAS2 = topology_named("das2")
SHARED = topology_named("cisne-shared")


def with_users(*users: dict[str, str]) -> Topology:
    """Return clusters as cisne, with these users at the nodes of each."""
    (cisne,) = SHARED.clusters
    clusters = tuple(
        cisne.model_copy(update={"name": f"c{number}", "local_users": each}) for number, each in enumerate(users)
    )
    return SHARED.model_copy(update={"clusters": clusters})


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("", {}),
        ("utrecht:30%", {"utrecht": 0.3}),
        (" utrecht:0.3, delft:12.5% ", {"utrecht": 0.3, "delft": 0.125}),
    ],
)
def test_shares_are_stated_in_percent_or_as_fractions(text, shares):
    assert parse_traffic(text) == pytest.approx(shares)


@pytest.mark.parametrize("text", ["utrecht", "utrecht:", "utrecht:much", "30%", "utrecht:30%,utrecht:10%"])
def test_what_is_no_share_is_refused(text):
    with pytest.raises(InvalidInput, match="--traffic"):
        parse_traffic(text)


def test_one_cluster_exchanges_its_share_in_equal_parts_with_all_others():
    flows = flows_of(DAS2, {"utrecht": 0.3})
    link = DAS2.cluster("utrecht").access_link
    assert len(flows) == 8
    assert carried_mbit(flows, "utrecht") == pytest.approx((0.3 * link.up_mbit, 0.3 * link.down_mbit))
    assert carried_mbit(flows, "delft") == pytest.approx((0.075 * link.down_mbit, 0.075 * link.up_mbit))


def test_equal_shares_of_all_clusters_are_met_exactly():
    flows = flows_of(MINI, dict.fromkeys(MINI.cluster_names, 0.4))
    for cluster in MINI.clusters:
        assert carried_mbit(flows, cluster.name)[0] == pytest.approx(0.4 * cluster.access_link.up_mbit)


@given(st.dictionaries(st.sampled_from(DAS2.cluster_names), st.floats(0.01, LARGEST_SHARE)))
def test_every_cluster_carries_its_share_at_least_and_no_link_too_much(traffic):
    try:
        flows = flows_of(DAS2, traffic)
    except InvalidInput:
        return
    for cluster in DAS2.clusters:
        link, (up_mbit, down_mbit) = cluster.access_link, carried_mbit(flows, cluster.name)
        assert up_mbit >= traffic.get(cluster.name, 0.0) * link.up_mbit - 1e-6
        assert max(up_mbit / link.up_mbit, down_mbit / link.down_mbit) <= LARGEST_SHARE + 1e-6


def test_a_cluster_that_does_not_exist_is_refused():
    with pytest.raises(UnknownName, match=r"utrect.*did you mean 'utrecht'"):
        flows_of(DAS2, {"utrect": 0.3})


def test_a_slow_link_that_its_part_of_the_traffic_would_fill_is_named():
    amsterdam, *others = DAS2.clusters
    slow = amsterdam.access_link.model_copy(update={"up_mbit": 5.0, "down_mbit": 5.0})
    clusters = (amsterdam.model_copy(update={"stated_access_link": slow}), *others)
    with pytest.raises(InvalidInput, match=f"'{amsterdam.name}' would carry 150% of its rate"):
        flows_of(DAS2.model_copy(update={"clusters": clusters}), {others[0].name: 0.3})


def test_a_single_cluster_has_nobody_to_exchange_traffic_with():
    alone = DAS2.model_copy(update={"clusters": DAS2.clusters[:1]})
    with pytest.raises(InvalidInput, match="no other emulated cluster"):
        flows_of(alone, {alone.cluster_names[0]: 0.3})


def test_users_of_a_cluster_that_is_alone_send_one_stream_to_the_router():
    """Three of them send 0.5 KB/s each, one 3 KB/s."""
    (flow,) = users_flows(SHARED)
    assert (flow.source, flow.target, flow.frame_bytes) == ("cisne", None, USERS_FRAME_BYTES)
    assert flow.rate_mbit == pytest.approx(4500 * 8 / 1e6)
    assert carried_mbit([flow], "cisne") == pytest.approx((0.036, 0.0))


def test_users_send_to_other_clusters_in_equal_parts():
    flows = users_flows(with_users({"n1": "internet", "n4": "xwindows"}, {}, {}))
    assert [(flow.source, flow.target) for flow in flows] == [("c0", "c1"), ("c0", "c2")]
    assert [flow.rate_mbit for flow in flows] == pytest.approx([0.014, 0.014])
    both = users_flows(with_users({"n1": "internet"}, {"n1": "xwindows"}))
    assert carried_mbit(both, "c0") == pytest.approx((0.024, 0.004))
    assert carried_mbit(both, "c1") == pytest.approx((0.004, 0.024))


def test_nobody_sends_where_nobody_works():
    for topology in (MINI, with_users({}), with_users({}, {})):
        assert flows_of(topology, {}) == users_flows(topology) == ()


def test_what_users_send_comes_on_top_of_stated_traffic():
    flows = flows_of(with_users({"n1": "internet"}, {}), {"c1": 0.3})
    assert carried_mbit(flows, "c0") == pytest.approx((30.024, 30.0))
    assert carried_mbit(flows, "c1") == pytest.approx((30.0, 30.024))


def test_a_link_that_its_users_alone_would_fill_is_named():
    (cisne,) = SHARED.clusters
    slow = cisne.model_copy(update={"stated_access_link": AccessLink(up_mbit=0.02, down_mbit=0.02)})
    with pytest.raises(InvalidInput, match="local_users: the link of 'cisne' would carry 180% of its rate"):
        flows_of(SHARED.model_copy(update={"clusters": (slow,)}), {})
