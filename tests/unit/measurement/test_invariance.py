"""A difference between K and 2K is a defect where both were called valid, and only there."""

import pytest

from emulator.cli.controlled_tables import with_controls
from emulator.fidelity.verdict import Judgement
from emulator.measurement.invariance import LARGEST_DIFFERENCE, defects, is_defect
from emulator.model.cell_rows import ExtensionFactorRow, InvarianceRow


def checked(components: tuple[int, ...], factor: float) -> InvarianceRow:
    return InvarianceRow(
        application="poisson", grid=400, processors=16, components=components, clusters=2, dilation=8,
        check_dilation=16, runtime_s=2.0, check_runtime_s=1.5, extension_factor=factor, check_extension_factor=1.5,
        difference=-0.25, n=3, verdict="valid", defect=True,
    )  # fmt: skip


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_valid_figure_may_differ_by_what_links_are_verified_to(sign):
    assert LARGEST_DIFFERENCE == 0.03
    assert not is_defect(sign * 0.03, Judgement.VALID)
    assert is_defect(sign * 0.0301, Judgement.VALID)


@pytest.mark.parametrize("judgement", [Judgement.SUSPECT, Judgement.VOID])
def test_a_figure_that_was_not_called_valid_may_differ_by_anything(judgement):
    assert not is_defect(0.5, judgement)


def test_a_defect_of_unequal_parts_names_them():
    said = [sentence.partition(":")[0] for sentence in defects([checked((8, 8), 2.0), checked((12, 4), 3.0)])]
    shown = "poisson grid 400 on 16 processors over 2 clusters"
    assert said == [shown, f"{shown} as 12+4"]


@pytest.mark.parametrize(("components", "factor"), [((8, 8), 2.0), ((12, 4), 3.0)])
def test_a_factor_is_shown_with_the_check_of_its_own_parts(components, factor):
    row = ExtensionFactorRow(
        application="poisson", grid=400, processors=16, components=components, clusters=2, dilation=8, runtime_s=2.0,
        extension_factor=factor, n=3, verdict="valid",
    )  # fmt: skip
    found = with_controls(row, [], [checked((8, 8), 2.0), checked((12, 4), 3.0)])
    assert found["invariance"]["extension_factor"] == factor
