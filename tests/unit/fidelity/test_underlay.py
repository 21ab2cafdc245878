"""Faults of the network between hosts, by the clusters at either end of the links that cross it."""

from __future__ import annotations

from itertools import combinations

import pytest

from emulator.fidelity.underlay import jitter_faults, underlay_faults
from emulator.fidelity.verdict import Judgement, judge_clocks
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.evidence import LinkCheck
from emulator.model.topology import Link
from emulator.model.underlay import Underlay

MINI = topology_named("mini")
FIRST, SECOND, *REST = MINI.cluster_names
SHORTEST_S = min(MINI.path(SECOND, other).delay_s for other in MINI.cluster_names if other != SECOND)
UP_MBIT = MINI.cluster(SECOND).access_link.up_mbit


def underlay(
    delay_s: float = 0.0003,
    rate_mbit: float | None = 940.0,
    ahead_s: float = 0.0,
    bound_s: float = 0.0,
    jitter_s: float = 0.0,
) -> Underlay:
    return Underlay(
        host_delay_s=delay_s,
        host_jitter_s=jitter_s,
        host_clock_ahead_s=ahead_s,
        host_clock_bound_s=bound_s,
        host_rate_to_central_mbit=rate_mbit,
        host_rate_from_central_mbit=rate_mbit,
    )


def test_a_network_that_is_as_it_was_has_no_fault() -> None:
    now = underlay(0.0004, None)
    assert underlay_faults(MINI, Dilation(1), {"two": [SECOND]}, {"two": underlay()}, {"two": now}) == ()
    assert underlay_faults(MINI, Dilation(1), {"one": [FIRST]}, {}, {}) == ()


@pytest.mark.parametrize("now_s", [0.0003 + 0.5 * SHORTEST_S, 0.0003 + 2 * SHORTEST_S])
def test_a_network_that_became_slower_concerns_the_jobs_at_the_clusters_behind_it(now_s: float) -> None:
    faults = underlay_faults(MINI, Dilation(1), {"two": [SECOND]}, {"two": underlay()}, {"two": underlay(now_s)})
    assert [fault.error for fault in faults] == [pytest.approx(min(1.0, (now_s - 0.0003) / SHORTEST_S))] * 2
    check = LinkCheck("after", faults)
    assert check.worst([FIRST, SECOND]) is not None
    assert check.worst([FIRST, REST[0]]) is None
    assert check.worst([SECOND]) is None


def test_a_dilation_makes_the_same_change_matter_less() -> None:
    now = {"two": underlay(0.0003 + 0.02 * 16 * SHORTEST_S)}
    assert underlay_faults(MINI, Dilation(4), {"two": [SECOND]}, {"two": underlay()}, now)
    assert not underlay_faults(MINI, Dilation(16), {"two": [SECOND]}, {"two": underlay()}, now)


def test_links_that_ask_more_than_the_network_carries_are_off_by_what_is_lacking() -> None:
    slow = {"two": underlay(rate_mbit=UP_MBIT / 4)}
    faults = underlay_faults(MINI, Dilation(2), {"two": [SECOND]}, slow, {})
    assert max(fault.error for fault in faults) == pytest.approx(0.5)
    assert "network from host two" in faults[0].what
    assert underlay_faults(MINI, Dilation(4), {"two": [SECOND]}, slow, {}) == ()


@pytest.mark.parametrize(("jitter_s", "dilation"), [(0.00024, 1), (0.03 * SHORTEST_S * 16 * 0.99, 16)])
def test_jitter_that_a_link_bears_is_no_fault(jitter_s: float, dilation: float) -> None:
    now = {"two": underlay(jitter_s=jitter_s)}
    assert underlay_faults(MINI, Dilation(dilation), {"two": [SECOND]}, {"two": underlay()}, now) == ()


def test_jitter_that_a_link_cannot_hold_concerns_the_jobs_that_cross_it_by_its_share_of_the_delay() -> None:
    now = {"two": underlay(jitter_s=0.5 * SHORTEST_S)}
    faults = underlay_faults(MINI, Dilation(1), {"one": [FIRST], "two": [SECOND]}, {"two": underlay()}, now)
    check = LinkCheck("before", faults)
    worst = check.worst([SECOND, *MINI.cluster_names])
    assert worst is not None
    assert worst.error == pytest.approx(0.5)
    assert "the network between their hosts scatters it by" in worst.what
    assert check.worst([FIRST, REST[0]]) is None
    assert not underlay_faults(MINI, Dilation(32), {"two": [SECOND]}, {"two": underlay()}, now)


def test_the_jitter_of_two_hosts_adds_up_by_squares() -> None:
    hosts = {"two": [SECOND], "three": [REST[0]]}
    host_bearable_s = max(0.03 * MINI.path(SECOND, REST[0]).delay_s, 0.00025)
    for share, is_fault in ((0.69, False), (0.72, True)):
        now = dict.fromkeys(hosts, underlay(jitter_s=share * host_bearable_s))
        faults = jitter_faults(MINI, Dilation(1), hosts, now)
        assert any(fault.concerns([SECOND, REST[0]]) for fault in faults) is is_fault


def test_jitter_that_is_asked_for_hides_as_much() -> None:
    pairs = combinations(MINI.cluster_names, 2)
    links = tuple(Link(**{"from": a, "to": b}, delay_s=0.01, jitter_s=0.004) for a, b in pairs)
    asked = MINI.model_copy(update={"links": links})
    assert jitter_faults(MINI, Dilation(1), {"two": [SECOND]}, {"two": underlay(jitter_s=0.0015)})
    assert not jitter_faults(asked, Dilation(1), {"two": [SECOND]}, {"two": underlay(jitter_s=0.0015)})
    assert jitter_faults(asked, Dilation(1), {"two": [SECOND]}, {"two": underlay(jitter_s=0.0025)})


@pytest.mark.parametrize(
    ("ahead_s", "bound_s", "judgement"),
    [
        (0.0, 0.02, Judgement.VALID),
        (-0.02, 0.0, Judgement.VALID),
        (-0.03, 0.02, Judgement.SUSPECT),
        (0.2, 0.001, Judgement.VOID),
    ],
)
def test_a_clock_matters_by_its_drift_since_the_run_began_and_its_uncertainty(
    ahead_s: float, bound_s: float, judgement: Judgement
) -> None:
    before = LinkCheck("before", underlays={"two": underlay(ahead_s=7.0)})
    after = LinkCheck("after", underlays={"two": underlay(ahead_s=7.0 + ahead_s, bound_s=bound_s)})
    assert judge_clocks([before, after], {"two"}, 1.0).judgement is judgement
    assert judge_clocks([before, after], {"three"}, 1.0).judgement is Judgement.VALID
    assert judge_clocks([before], {"two"}, 1.0).judgement is Judgement.VALID
