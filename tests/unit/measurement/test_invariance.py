"""A difference between K and 2K is a defect where both were called valid, and only there."""

import pytest

from emulator.fidelity.verdict import Judgement
from emulator.measurement.invariance import LARGEST_DIFFERENCE, is_defect


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_valid_figure_may_differ_by_what_links_are_verified_to(sign):
    assert LARGEST_DIFFERENCE == 0.03
    assert not is_defect(sign * 0.03, Judgement.VALID)
    assert is_defect(sign * 0.0301, Judgement.VALID)


@pytest.mark.parametrize("judgement", [Judgement.SUSPECT, Judgement.VOID])
def test_a_figure_that_was_not_called_valid_may_differ_by_anything(judgement):
    assert not is_defect(0.5, judgement)
