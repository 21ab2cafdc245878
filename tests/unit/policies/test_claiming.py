"""When processors that cannot be reserved are claimed: the Close-to-Files paper, section 3."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.errors import InvalidInput
from emulator.model.scheduling import StatedClaiming
from emulator.policies.claiming_procedure import ClaimingProcedure

PAPER = StatedClaiming()
ROUNDING_S = 1e-6


def failing(procedure: ClaimingProcedure, tries: int) -> list[ClaimingProcedure]:
    """So many tries, each of which fails at once."""
    made = [procedure]
    while len(made) < tries and (following := made[-1].after_failure(made[-1].claim_s)) is not None:
        made.append(following)
    return made


def test_the_papers_example_a_job_placed_at_100_with_80_seconds_of_transfer():
    """JPT = 100, FTT = 80: JST 180; tries at 160, 175, 178.75."""
    tries = failing(ClaimingProcedure.begun(PAPER, 100, 80), 3)
    assert [attempt.claim_s for attempt in tries] == [160, 175, 178.75]
    assert {attempt.start_s for attempt in tries} == {180}
    assert [attempt.number for attempt in tries] == [1, 2, 3]


def test_the_papers_example_when_the_first_try_succeeds_three_times_as_much_is_gained_as_wasted():
    """PGT = JCT - JPT, PWT = JST - JCT, and L = 0.75."""
    first = ClaimingProcedure.begun(PAPER, 100, 80)
    assert first.claim_s - first.placed_s == 3 * (first.start_s - first.claim_s)


def test_contradiction_x2_a_least_step_brings_the_tries_to_the_start_itself():
    """By L alone they would converge on 180 and never reach it; the last is there, and then the start is put off."""
    tries = failing(ClaimingProcedure.begun(PAPER, 100, 80), 6)
    assert [attempt.claim_s for attempt in tries[3:]] == [179.75, 180, 360]
    assert tries[5].start_s == 420
    assert tries[5].additional_s == 240


def test_a_job_without_files_is_claimed_at_once_and_put_off_if_that_fails():
    first, second, third = failing(ClaimingProcedure.begun(PAPER, 50), 3)
    assert (first.claim_s, first.start_s, first.additional_s) == (50, 50, 0)
    assert (second.claim_s, second.start_s) == (230, 290)
    assert (third.claim_s, third.start_s) == (275, 290)


def test_a_failure_that_is_known_late_is_counted_from_then():
    late = ClaimingProcedure.begun(PAPER, 100, 80).after_failure(172)
    assert late.claim_s == 178
    later = ClaimingProcedure.begun(PAPER, 100, 80).after_failure(500)
    assert (later.start_s, later.postponements) == (660, 2)
    assert later.claim_s == 620


def test_the_threshold_of_postponements_ends_the_procedure():
    stated = StatedClaiming(most_postponements=1)
    tries = failing(ClaimingProcedure.begun(stated, 0), 1_000)
    assert tries[-1].claim_s == tries[-1].start_s == 240
    assert tries[-1].after_failure(240) is None
    assert ClaimingProcedure.begun(StatedClaiming(most_postponements=0), 0).after_failure(0) is None


def test_a_negative_transfer_time_is_refused():
    with pytest.raises(InvalidInput, match="at least 0 s, not -1"):
        ClaimingProcedure.begun(PAPER, 0, -1)


@given(
    share=st.floats(0.01, 0.99),
    least_step_s=st.floats(0.1, 100),
    postponement_s=st.floats(0.1, 1_000),
    transfer_s=st.floats(0, 10_000),
    delays_s=st.lists(st.floats(0, 300), min_size=1, max_size=60),
)
def test_whatever_is_stated_tries_go_forward_and_none_is_after_its_planned_start(
    share, least_step_s, postponement_s, transfer_s, delays_s
):
    stated = StatedClaiming(share=share, least_step_s=least_step_s, postponement_s=postponement_s)
    tries = [ClaimingProcedure.begun(stated, 0, transfer_s)]
    for delay_s in delays_s:
        following = tries[-1].after_failure(tries[-1].claim_s + delay_s)
        assert following is not None
        assert following.claim_s >= tries[-1].claim_s + delay_s - ROUNDING_S
        tries.append(following)
    assert all(attempt.claim_s <= attempt.start_s for attempt in tries)
    for earlier, later in pairwise(tries):
        assert later.claim_s - earlier.claim_s >= least_step_s - ROUNDING_S or later.claim_s == later.start_s
        assert later.start_s - later.additional_s == pytest.approx(transfer_s, abs=ROUNDING_S)
