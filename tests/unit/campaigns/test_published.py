"""The printed runtimes by which profiles are calibrated."""

from __future__ import annotations

import pytest

from emulator.campaigns.published import published_runtime
from emulator.model.errors import UnknownName


def test_the_mean_of_ten_runs_goes_before_a_single_run():
    runtime = published_runtime("poisson", 4000, 16)
    assert (runtime.runtime_s, runtime.iterations) == (706, 2644)
    assert "ten runs" in runtime.source


def test_an_iteration_at_grid_400_takes_1_298_ms():
    assert published_runtime("poisson", 400, 16).iteration_s == pytest.approx(1.298e-3, rel=1e-3)


def test_other_numbers_of_processors_have_single_runs():
    assert published_runtime("poisson", 4000, 64).runtime_s == 188


def test_ensflow_counts_days_whatever_its_grid():
    for grid in (64, 128):
        assert published_runtime("ensflow", grid, 12).iteration_s == pytest.approx(3485 / 20)


def test_what_was_not_printed_is_answered_with_what_was():
    with pytest.raises(
        UnknownName, match=r"poisson grid 300 on 16 processors.*known: poisson grid 50 on 16 processors"
    ):
        published_runtime("poisson", 300, 16)
    with pytest.raises(UnknownName, match="laplace"):
        published_runtime("laplace", 400, 16)
