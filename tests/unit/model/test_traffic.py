"""Background traffic: shares of access links, and the flows between clusters that make them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.traffic import LARGEST_SHARE, carried_mbit, flows_of, parse_traffic

MINI = topology_named("mini")
DAS2 = topology_named("das2")


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
