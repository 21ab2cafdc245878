"""Whether a run of a cell counts, is run again as it was, or needs a larger dilation: decided from its verdicts. Pure.

A run that is not valid is run again once, whatever the reason: the host may have been busy for a moment. If it shows
again that the host cannot keep up, and nothing else disturbed it, only a larger dilation cures that. A disturbed run is
repeated a few times more. What nothing cures (unpaced processors, real links) is not run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from emulator.fidelity.verdict import Judgement, Remedy, Verdict

LARGER_BY: Final = 2.0
"""By how much the dilation of a problem is raised at once."""

MOST_RAISES: Final = 2
"""How often the dilation of a problem is raised after its pilots at most: to twice, then to four times."""

MOST_DISTURBED: Final = 6
"""The most runs of a problem that are repeated for a busy host, beside the first repetition of each."""


class Next(Enum):
    """The step after a run: it counts, it is run again at the same dilation, or its problem gets a larger one."""

    KEEP = "keep"
    AGAIN = "again"
    LARGER = "larger"


def next_step(tries: Sequence[Verdict], *, disturbed_before: int, may_raise: bool) -> Next:
    """Return what follows the last of `tries`, all of one run of a cell at one dilation, in order.

    `disturbed_before` counts the repetitions of this problem for a busy host so far; `may_raise` tells whether its
    dilation may become larger.
    """
    last = tries[-1]
    if last.judgement is Judgement.VALID or not last.remedies or Remedy.NONE in last.remedies:
        return Next.KEEP
    if sum(needs_larger(verdict) for verdict in tries) > 1:
        return Next.LARGER if may_raise else Next.KEEP
    if len(tries) == 1:
        return Next.AGAIN
    return Next.AGAIN if disturbed_before < MOST_DISTURBED else Next.KEEP


def needs_larger(verdict: Verdict) -> bool:
    """Return whether only a larger dilation cures what `verdict` names."""
    return verdict.remedies == {Remedy.LARGER_DILATION}
