"""The printed runtimes by which profiles are calibrated."""

from __future__ import annotations

import pytest

from emulator.model.errors import UnknownName
from emulator.studies.published_runtimes import Setup, find_communication, find_published, published_runtime


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


def test_every_setup_has_its_runtimes():
    means = [find_published("poisson", 400, 16, setup) for setup in (Setup.PBS_1, Setup.GLOBUS_1, Setup.GLOBUS_4)]
    assert [mean.runtime_s for mean in means if mean is not None] == [4.95, 12.8, 30.8]
    assert find_published("poisson", 4000, 64, Setup.GLOBUS_1) is None
    three = find_published("ensflow", 128, 30, Setup.GLOBUS_3)
    assert three is not None
    assert (three.runtime_s, three.source) == (1584, "Table 5, 3 clusters")


def test_a_setup_is_a_number_of_clusters_and_an_interconnect():
    assert Setup.of(1, as_coallocated=False) is Setup.PBS_1
    assert Setup.of(1, as_coallocated=True) is Setup.GLOBUS_1
    assert Setup.of(4, as_coallocated=False) is Setup.GLOBUS_4
    assert Setup.of(5, as_coallocated=False) is None
    assert [(setup.clusters, setup.interconnect.value) for setup in (Setup.PBS_1, Setup.GLOBUS_1, Setup.GLOBUS_2)] == [
        (1, "single-cluster"), (1, "coallocated"), (2, "coallocated"),
    ]  # fmt: skip


def test_communication_was_printed_for_16_processors_synchronized_and_not():
    for synchronized, total_s in ((True, 11.8), (False, 4.16)):
        found = find_communication("poisson", 100, 16, Setup.GLOBUS_2, synchronized=synchronized)
        assert found is not None
        assert (found.communication_s, found.iterations) == (total_s, 2132)
    assert find_communication("poisson", 50, 16, Setup.GLOBUS_2, synchronized=True) is None
    assert find_communication("poisson", 100, 32, Setup.GLOBUS_2, synchronized=True) is None
