"""What follows a run: it counts, it is run again as it was, or its problem needs a larger dilation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.fidelity.repetition import MOST_DISTURBED, Next, next_step
from emulator.fidelity.verdict import Judgement, Remedy, Verdict

VALID = Verdict()
LATE = Verdict(Judgement.SUSPECT, ("late",), frozenset({Remedy.LARGER_DILATION}))
BUSY = Verdict(Judgement.SUSPECT, ("other work",), frozenset({Remedy.ANOTHER_RUN}))
LATE_AND_BUSY = Verdict.worst_of([LATE, BUSY])
UNPACED = Verdict(Judgement.SUSPECT, ("unpaced",), frozenset({Remedy.NONE}))


def step(*tries: Verdict, disturbed: int = 0, may_raise: bool = True) -> Next:
    return next_step(tries, disturbed_before=disturbed, may_raise=may_raise)


def test_a_valid_run_counts_whatever_went_before():
    assert step(VALID) is step(LATE, VALID) is step(BUSY, BUSY, VALID) is Next.KEEP


def test_the_first_run_that_is_not_valid_is_run_again_as_it_was():
    assert step(LATE) is step(BUSY) is step(LATE_AND_BUSY) is Next.AGAIN


def test_what_is_late_twice_needs_a_larger_dilation_while_there_is_one():
    assert step(LATE, LATE) is Next.LARGER
    assert step(LATE, BUSY, LATE) is Next.LARGER
    assert step(LATE, LATE, may_raise=False) is Next.KEEP


def test_a_busy_host_never_raises_the_dilation():
    assert step(LATE_AND_BUSY, LATE_AND_BUSY) is Next.AGAIN
    assert step(LATE, LATE_AND_BUSY) is Next.AGAIN
    assert step(BUSY, BUSY, disturbed=MOST_DISTURBED) is Next.KEEP


def test_what_nothing_cures_is_not_run_again():
    assert step(UNPACED) is step(Verdict.worst_of([UNPACED, LATE])) is Next.KEEP
    assert step(Verdict(Judgement.VOID, ("read back from records",))) is Next.KEEP


@given(st.lists(st.sampled_from([VALID, LATE, BUSY, LATE_AND_BUSY, UNPACED]), min_size=100), st.booleans())
def test_repetition_ends(verdicts, may_raise):
    tries, disturbed = [], 0
    for verdict in verdicts:
        tries.append(verdict)
        if next_step(tries, disturbed_before=disturbed, may_raise=may_raise) is not Next.AGAIN:
            break
        disturbed += len(tries) > 1
    assert len(tries) <= MOST_DISTURBED + 2
