"""Ensflow's command line: the published setting by default, and the sentences for what it cannot mean."""

import pytest

from apps.ensflow import EnsflowOptions, read_options
from apps.ocean import Basin
from apps.run import make_parser
from emulator.model.errors import InvalidInput


def options(line: str) -> EnsflowOptions:
    return read_options(make_parser("ensflow").parse_args(["ensflow", *line.split()]))


def test_the_default_is_the_published_setting() -> None:
    """Measurement study on DAS-2: 60 members, 20 days, an analysis every 240 hours."""
    assert options("--grid 64") == EnsflowOptions(
        Basin(64), members=60, days=20, analysis_every_days=10, currents_m_per_s=0.15, seed=0, save=None
    )


def test_an_iteration_is_a_day() -> None:
    assert options("--iterations 5") == options("--days 5")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--grid 7", "--grid must be at least 8 points along a side"),
        ("--members 1", "--members must be at least 2, for one has no spread, not 1"),
        ("--members -60", "--members must be at least 2"),
        ("--days 0", "--days must be at least 1, not 0"),
        ("--analysis-every-days 0", "--analysis-every-days must be at least 1, not 0"),
        ("--currents 0", "--currents must be a positive number of m/s, not 0"),
        ("--currents nan", "--currents must be a positive number of m/s, not nan"),
        ("--seed -1", "--seed must be zero or positive, not -1"),
        ("--grid nan", "invalid int value: 'nan'"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(line: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        options(line)
