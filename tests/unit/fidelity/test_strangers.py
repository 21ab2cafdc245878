"""Traffic of others: what crossed a job's access links less what its ranks sent, as a share of what a link carries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.fidelity.measures import JobMeasures
from emulator.fidelity.strangers import SMALL_TALK_BYTES, StrangersTraffic, own_bytes, strangers_traffic
from emulator.fidelity.verdict import Judgement, Remedy, judge_job
from emulator.model.catalogue import topology_named

DAS2 = topology_named("das2")
"""Access links of 100 Mbit/s: 12.5 million bytes a second."""

OWN = {"delft": (2_000_000, 3_000_000), "leiden": (3_000_000, 2_000_000)}


def found(carried: dict[str, tuple[int, int]], execution_s: float = 10.0) -> StrangersTraffic | None:
    return strangers_traffic(DAS2, execution_s, carried, OWN)


def test_the_surplus_is_a_share_of_what_the_link_could_carry_and_the_worst_link_is_named() -> None:
    surplus = 12_500_000 + SMALL_TALK_BYTES
    carried = OWN | {"leiden": (3_000_000 + 9_000, 2_000_000 + surplus), "utrecht": (10**9, 10**9)}
    traffic = found(carried)
    assert traffic is not None
    assert (traffic.share, traffic.link) == (pytest.approx(0.1), "leiden down")


@given(st.integers(0, SMALL_TALK_BYTES), st.integers(0, 1_000_000))
def test_small_talk_and_dropped_packets_are_not_traffic_of_others(talk: int, dropped: int) -> None:
    sent, received = OWN["delft"]
    carried = OWN | {"delft": (sent + talk, received - dropped)}
    traffic = found(carried)
    assert traffic is not None
    assert traffic.share == 0


def test_what_was_not_counted_is_not_judged() -> None:
    assert found({"delft": (1, 1)}) is None
    assert strangers_traffic(DAS2, 10.0, OWN, {}) is None
    assert found(dict(OWN), execution_s=0.0) is None


@pytest.mark.parametrize(
    ("result", "own"),
    [
        ({"wide_area_bytes": [[1, 2], [3, 4]]}, {"delft": (1, 2), "leiden": (3, 4)}),
        ({"wide_area_bytes": None}, {}),
        ({"wide_area_bytes": [[1, 2]]}, {}),
        ({}, {}),
    ],
)
def test_a_record_holds_the_bytes_of_each_part_in_order(result: dict[str, object], own: dict[str, object]) -> None:
    assert own_bytes(result, ["delft", "leiden"]) == own


@pytest.mark.parametrize(
    ("share", "judgement"), [(0.009, Judgement.VALID), (0.02, Judgement.SUSPECT), (0.2, Judgement.VOID)]
)
def test_a_stranger_is_held_against_a_job_by_its_share_of_the_link(share: float, judgement: Judgement) -> None:
    verdict = judge_job(JobMeasures(strangers=StrangersTraffic(share, "delft up")))
    assert verdict.judgement is judgement
    if judgement is not Judgement.VALID:
        assert verdict.reasons == (f"traffic of others took {share:.1%} of the access link delft up",)
        assert verdict.remedies == {Remedy.ANOTHER_RUN}
