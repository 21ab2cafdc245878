"""The tree of the collectives: it reaches every rank once, and crosses between clusters as seldom as can be."""

import pytest

from apps.tree import PATTERNS, Pattern, place_in_tree

CLUSTERS = [(0,), (0,) * 16, (0,) * 8 + (1,) * 8, (0,) * 3 + (1,) * 5 + (2,) + (3,) * 7, tuple(range(5))]


@pytest.mark.parametrize("cluster_of", CLUSTERS)
@pytest.mark.parametrize("fan_out", [1, 2, 4])
def test_every_rank_but_the_root_reports_to_one_that_knows_it(cluster_of: tuple[int, ...], fan_out: int) -> None:
    for root in range(len(cluster_of)):
        places = [place_in_tree(rank, cluster_of, root, fan_out) for rank in range(len(cluster_of))]
        children = sorted(child for place in places for child in place.children)
        assert children == [rank for rank in range(len(cluster_of)) if rank != root]
        for rank, place in enumerate(places):
            assert (place.parent is None) == (rank == root)
            assert place.parent is None or rank in places[place.parent].children


@pytest.mark.parametrize("cluster_of", CLUSTERS)
def test_each_cluster_but_the_roots_is_reached_over_the_wide_area_once(cluster_of: tuple[int, ...]) -> None:
    for root in range(len(cluster_of)):
        crossings = [
            (place.parent, rank)
            for rank in range(len(cluster_of))
            if (place := place_in_tree(rank, cluster_of, root)).parent is not None
            and cluster_of[place.parent] != cluster_of[rank]
        ]
        assert len(crossings) == len(set(cluster_of)) - 1
        assert all(parent == root for parent, _ in crossings)


def test_sixteen_ranks_of_one_cluster_are_two_levels_below_the_root() -> None:
    assert place_in_tree(0, (0,) * 16, fan_out=4).children == (1, 2, 3, 4)
    assert place_in_tree(3, (0,) * 16, fan_out=4).children == (13, 14, 15)
    assert place_in_tree(13, (0,) * 16, fan_out=4).parent == 3


def test_the_root_comes_first_in_its_cluster() -> None:
    assert place_in_tree(5, (0,) * 4 + (1,) * 4, root=5, fan_out=2).children == (4, 6, 0)
    assert place_in_tree(7, (0,) * 4 + (1,) * 4, root=5, fan_out=2).parent == 4


@pytest.mark.parametrize("cluster_of", CLUSTERS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_reaches_every_rank_once(cluster_of: tuple[int, ...], pattern: Pattern) -> None:
    for root in range(len(cluster_of)):
        places = [place_in_tree(rank, cluster_of, root, pattern=pattern) for rank in range(len(cluster_of))]
        children = sorted(child for place in places for child in place.children)
        assert children == [rank for rank in range(len(cluster_of)) if rank != root]
        for rank, place in enumerate(places):
            assert (place.parent is None) == (rank == root)
            assert place.parent is None or rank in places[place.parent].children


def test_in_a_binomial_tree_what_a_rank_has_collected_doubles_from_round_to_round() -> None:
    one = (0,) * 16
    assert place_in_tree(0, one, pattern="binomial").children == (8, 4, 2, 1)
    assert place_in_tree(8, one, pattern="binomial").children == (12, 10, 9)
    assert place_in_tree(13, one, pattern="binomial").parent == 12
    assert place_in_tree(0, (0,) * 6, pattern="binomial").children == (4, 2, 1)


def test_in_the_flat_pattern_everybody_reports_to_the_root() -> None:
    two = (0,) * 4 + (1,) * 4
    assert place_in_tree(0, two, pattern="flat").children == (1, 2, 3, 4, 5, 6, 7)
    assert place_in_tree(6, two, pattern="flat").parent == 0
