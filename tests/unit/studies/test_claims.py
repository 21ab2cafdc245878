"""How claims are decided: paired intervals of ratios, shown, not shown or undecided."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from emulator.model.errors import RunFailed
from emulator.studies.claims import ClaimOutcome, DecidedClaim, Decision, decide_part
from emulator.studies.statements import Claim, ComparedCase, Quantity, Range, Ratio, RatioPart, exactly

FAST, SLOW, LIKE_FAST = (ComparedCase("workload", queue, Quantity.RESPONSE) for queue in ("fast", "slow", "like-fast"))
FOUND = {FAST: [1.0, 2.0, 3.0], SLOW: [1.5, 2.9, 4.6], LIKE_FAST: [1.01, 1.99, 3.02]}


def values(case: ComparedCase) -> Sequence[float]:
    return FOUND[case]


def below(ratio: Ratio, bound: float = 1.0) -> ClaimOutcome:
    return decide_part(RatioPart("", ratio, Range(high=bound)), values).verdict


def about(ratio: Ratio, margin: float) -> ClaimOutcome:
    return decide_part(RatioPart("", ratio, Range.within_share(margin)), values).verdict


def whole(*outcomes: ClaimOutcome) -> ClaimOutcome:
    decisions = tuple(Decision("", 1.0, None, None, outcome) for outcome in outcomes)
    return DecidedClaim(Claim("C0", "Fig. 0", "", ()), decisions).verdict


def test_pairing_decides_what_replications_that_differ_widely_would_leave_open() -> None:
    assert below(Ratio((FAST,), (SLOW,))) is ClaimOutcome.SHOWN
    assert below(Ratio((SLOW,), (FAST,))) is ClaimOutcome.NOT_SHOWN
    assert below(Ratio((FAST,), (), 2.0)) is ClaimOutcome.UNDECIDED


def test_much_less_needs_a_ratio_below_the_bound() -> None:
    assert below(Ratio((FAST,), (SLOW,)), 1 / 1.2) is ClaimOutcome.SHOWN
    assert below(Ratio((FAST,), (SLOW,)), 1 / 2) is ClaimOutcome.NOT_SHOWN


def test_about_means_the_whole_interval_within_the_margin() -> None:
    assert about(Ratio((FAST,), (LIKE_FAST,)), 0.10) is ClaimOutcome.SHOWN
    assert about(Ratio((FAST,), (LIKE_FAST,)), 0.01) is ClaimOutcome.UNDECIDED
    assert about(Ratio((FAST,), (SLOW,)), 0.10) is ClaimOutcome.NOT_SHOWN


def test_policies_that_coincide_are_not_better_than_each_other() -> None:
    assert below(Ratio((FAST,), (FAST,))) is ClaimOutcome.NOT_SHOWN
    assert about(Ratio((FAST,), (FAST,)), 0.01) is ClaimOutcome.SHOWN


def test_a_ratio_of_ratios() -> None:
    decision = decide_part(RatioPart("", Ratio((FAST, LIKE_FAST), (SLOW, SLOW)), Range(high=1.0)), values)
    assert decision.value == pytest.approx((1.01 * 1.99 * 3.02 * 6 / (1.5 * 2.9 * 4.6) ** 2) ** (1 / 3))
    assert decision.verdict is ClaimOutcome.SHOWN


def test_constants_agree_to_their_last_digit_or_do_not() -> None:
    assert decide_part(exactly("", 1.2182, 1.218, 5e-4)).verdict is ClaimOutcome.SHOWN
    assert decide_part(exactly("", 1.2192, 1.218, 5e-4)).verdict is ClaimOutcome.NOT_SHOWN


def test_a_claim_shows_if_all_its_parts_do_and_fails_with_one() -> None:
    assert whole(ClaimOutcome.SHOWN, ClaimOutcome.SHOWN) is ClaimOutcome.SHOWN
    assert whole(ClaimOutcome.SHOWN, ClaimOutcome.UNDECIDED) is ClaimOutcome.UNDECIDED
    assert whole(ClaimOutcome.UNDECIDED, ClaimOutcome.NOT_SHOWN) is ClaimOutcome.NOT_SHOWN


def test_one_replication_has_no_interval() -> None:
    with pytest.raises(RunFailed, match="two replications"):
        decide_part(RatioPart("", Ratio((FAST,), (SLOW,)), Range(high=1.0)), lambda case: [1.0])


@pytest.mark.parametrize(
    ("bound", "alone", "allowing"),
    [
        (1.02, ClaimOutcome.UNDECIDED, ClaimOutcome.SHOWN),
        (0.97, ClaimOutcome.NOT_SHOWN, ClaimOutcome.UNDECIDED),
        (0.95, ClaimOutcome.NOT_SHOWN, ClaimOutcome.NOT_SHOWN),
    ],
)
def test_a_ratio_known_to_be_too_large_is_decided_by_all_that_the_true_one_may_be(bound, alone, allowing):
    """The ratio has the interval from 0.984 to 1.024, and exceeds the true one by 1 to 2%."""
    ratio = Ratio((LIKE_FAST,), (FAST,), bound)
    assert below(ratio) is alone
    decision = decide_part(RatioPart("", ratio, Range(high=1.0), least_excess=1.01, most_excess=1.02), values)
    assert decision.verdict is allowing
    assert decision.low == decide_part(RatioPart("", ratio, Range(high=1.0)), values).low
