"""How claims are decided: paired intervals of ratios, shown, not shown or undecided."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from emulator.model.errors import RunFailed
from emulator.simulator.studies.comparisons import (
    About,
    Below,
    Constant,
    Part,
    Quantity,
    Ratio,
    Subject,
    Verdict,
    together,
)

FAST, SLOW, LIKE_FAST = (Subject("workload", queue, Quantity.RESPONSE) for queue in ("fast", "slow", "like-fast"))
FOUND = {FAST: [1.0, 2.0, 3.0], SLOW: [1.5, 2.9, 4.6], LIKE_FAST: [1.01, 1.99, 3.02]}


def verdict(part: Part) -> Verdict:
    def values(subject: Subject) -> Sequence[float]:
        return FOUND[subject]

    return part.decide(values).verdict


def test_pairing_decides_what_replications_that_differ_widely_would_leave_open() -> None:
    assert verdict(Below("", Ratio((FAST,), (SLOW,)))) is Verdict.SHOWN
    assert verdict(Below("", Ratio((SLOW,), (FAST,)))) is Verdict.NOT_SHOWN
    assert verdict(Below("", Ratio((FAST,), (), 2.0))) is Verdict.UNDECIDED


def test_much_less_needs_a_ratio_below_the_bound() -> None:
    assert verdict(Below("", Ratio((FAST,), (SLOW,)), 1 / 1.2)) is Verdict.SHOWN
    assert verdict(Below("", Ratio((FAST,), (SLOW,)), 1 / 2)) is Verdict.NOT_SHOWN


def test_about_means_the_whole_interval_within_the_margin() -> None:
    assert verdict(About("", Ratio((FAST,), (LIKE_FAST,)), 0.10)) is Verdict.SHOWN
    assert verdict(About("", Ratio((FAST,), (LIKE_FAST,)), 0.01)) is Verdict.UNDECIDED
    assert verdict(About("", Ratio((FAST,), (SLOW,)), 0.10)) is Verdict.NOT_SHOWN


def test_policies_that_coincide_are_not_better_than_each_other() -> None:
    assert verdict(Below("", Ratio((FAST,), (FAST,)))) is Verdict.NOT_SHOWN
    assert verdict(About("", Ratio((FAST,), (FAST,)), 0.01)) is Verdict.SHOWN


def test_a_ratio_of_ratios() -> None:
    decision = Below("", Ratio((FAST, LIKE_FAST), (SLOW, SLOW))).decide(lambda subject: FOUND[subject])
    assert decision.value == pytest.approx((1.01 * 1.99 * 3.02 * 6 / (1.5 * 2.9 * 4.6) ** 2) ** (1 / 3))
    assert decision.verdict is Verdict.SHOWN


def test_constants_agree_to_their_last_digit_or_do_not() -> None:
    assert verdict(Constant("", 1.2182, 1.218, 5e-4)) is Verdict.SHOWN
    assert verdict(Constant("", 1.2192, 1.218, 5e-4)) is Verdict.NOT_SHOWN


def test_a_claim_shows_if_all_its_parts_do_and_fails_with_one() -> None:
    assert together([Verdict.SHOWN, Verdict.SHOWN]) is Verdict.SHOWN
    assert together([Verdict.SHOWN, Verdict.UNDECIDED]) is Verdict.UNDECIDED
    assert together([Verdict.UNDECIDED, Verdict.NOT_SHOWN]) is Verdict.NOT_SHOWN


def test_one_replication_has_no_interval() -> None:
    with pytest.raises(RunFailed, match="two replications"):
        Below("", Ratio((FAST,), (SLOW,))).decide(lambda subject: [1.0])
