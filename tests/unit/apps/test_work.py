"""The work of the process that has most of it: what the applications' own division of the grid says."""

from __future__ import annotations

import pytest

from apps.registry import all_updates, largest_share
from emulator.model.errors import InvalidInput, UnknownName


@pytest.mark.parametrize(
    ("application", "grid", "processors", "points"),
    [
        ("poisson", 400, 16, 100 * 100),
        ("poisson", 100, 8, 25 * 50),
        ("poisson", 10, 7, 2 * 10),
        ("laplace", 3600, 36, 600 * 600),
        ("laplace", 10, 9, 4 * 4),
        ("heat", 400, 1, 400 * 400),
        ("heat", 400, 5, 100 * 400),
        ("heat", 400, 36, 12 * 400),
    ],
)
def test_the_largest_block_counts(application, grid, processors, points):
    assert largest_share(application, grid, processors).points == points


def test_an_ensemble_is_swept_over_state_by_state():
    alone, twelve = (largest_share("ensflow", 64, processors) for processors in (1, 12))
    assert alone.points == twelve.points == 64 * 64
    assert alone.sweeps == 12 * twelve.sweeps


@pytest.mark.parametrize("application", ["poisson", "laplace"])
def test_equal_blocks_make_up_the_whole(application):
    assert all_updates(application, 400) == 16 * largest_share(application, 400, 16).updates


@pytest.mark.parametrize(
    ("application", "processors", "error", "said"),
    [
        ("laplace", 8, InvalidInput, "square process grid cannot be made of 8"),
        ("ensflow", 7, InvalidInput, "60 members cannot be divided over 7"),
        ("poisson", 0, InvalidInput, "at least 1 process"),
        ("synthetic", 4, UnknownName, "known: poisson, laplace, heat, ensflow"),
    ],
)
def test_what_cannot_be_divided_is_refused(application, processors, error, said):
    with pytest.raises(error, match=said):
        largest_share(application, 400, processors)
