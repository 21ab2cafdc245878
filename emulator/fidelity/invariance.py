"""The check that needs no reference: the same measurement at the dilation K and at 2K must agree. Pure.

Whatever does not dilate - waking ranks, copying messages, carrying packets - weighs half as much at 2K. If a figure
changes by more than links are verified to, one of the two is wrong; if both were called valid, the verdict is.
"""

from __future__ import annotations

from typing import Final

from emulator.fidelity.thresholds import SUSPECT_ERROR
from emulator.fidelity.verdict import Judgement

LARGER_BY: Final = 2.0
"""How many times the dilation of a measurement its check has."""

LARGEST_DIFFERENCE: Final = SUSPECT_ERROR
"""Above this relative difference between a figure at K and at 2K, a verdict that called both valid was wrong."""


def is_defect(difference: float, judgement: Judgement) -> bool:
    """Whether figures that differ by so much, relative to the one at K, should not both have been valid."""
    return judgement is Judgement.VALID and abs(difference) > LARGEST_DIFFERENCE
