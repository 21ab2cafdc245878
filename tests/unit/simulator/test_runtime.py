"""Runtime models: factors from tables, and what is refused in them."""

from pathlib import Path

import pytest

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.simulator.runtime import OneFactor
from emulator.simulator.runtime_tables import joined_factors, read_factors

PUBLISHED = Path(__file__).parents[3] / "workloads" / "reference" / "das2_execution_times_for_simulation.csv"
MEASURED_HEADER = "application,grid,processors,components,clusters,extension_factor,verdict\n"


def on(*parts):
    return Placement(tuple(Component(cluster, size) for cluster, size in parts))


def job(number, arrival_s, service_s, *components, application=""):
    return StreamJob(number, arrival_s, service_s, JobRequest(RequestKind.UNORDERED, components), 0, application)


@pytest.mark.parametrize(
    ("application", "placement", "service_s", "execution_s"),
    [
        ("poisson", on((0, 32)), 357, 357),
        ("poisson", on((0, 16), (1, 16)), 357, 402),
        ("poisson", on((0, 8), (1, 8), (2, 8), (3, 8)), 357, 440),
        ("ensflow", on((0, 10), (3, 10)), 1935, 2207),
        ("ensflow", on((0, 10), (0, 10)), 1935, 1935),
    ],
)
def test_published_execution_times(application, placement, service_s, execution_s):
    assert read_factors(PUBLISHED).execution_s(application, placement, service_s) == execution_s


def test_what_the_table_does_not_know_is_not_guessed():
    with pytest.raises(UnknownName, match="nothing of 'poisson' on 64 processors over 2 clusters"):
        read_factors(PUBLISHED).execution_s("poisson", on((0, 32), (1, 32)), 1)


def test_measured_factors_without_the_void_ones(tmp_path):
    file = tmp_path / "extension_factors.csv"
    file.write_text(
        MEASURED_HEADER + "poisson,1000,16,1,1,1.0,valid\npoisson,1000,16,2,2,1.5,valid\nheat,9,4,2,2,9,void\n"
    )
    table = read_factors(file)
    assert table.execution_s("poisson", on((0, 8), (1, 8)), 10) == 15
    with pytest.raises(UnknownName):
        table.execution_s("heat", on((0, 2), (1, 2)), 10)


def test_of_an_application_measured_on_several_grids_one_is_meant(tmp_path):
    file = tmp_path / "extension_factors.csv"
    rows = ("poisson,100,16,2,2,3.0,valid", "poisson,400,16,2,2,2.0,valid", "heat,50,16,2,2,1.5,valid")
    file.write_text(MEASURED_HEADER + "\n".join(rows) + "\n")
    placement = on((0, 8), (1, 8))
    assert read_factors(file, grid=100).execution_s("poisson", placement, 10) == 30
    assert read_factors(file, grid=400).execution_s("poisson", placement, 10) == 20
    assert read_factors(file, grid=400).execution_s("heat", placement, 10) == 15
    with pytest.raises(InvalidInput, match=r"line 3: application: .* name the grid that is meant"):
        read_factors(file)
    with pytest.raises(InvalidInput, match="'poisson' was measured on 100, 400, not on 200"):
        read_factors(file, grid=200)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (MEASURED_HEADER + "poisson,9,16,2,2,-1,valid\n", "line 2: extension_factor: must be a positive number"),
        (MEASURED_HEADER + "poisson,9,16,2,2,nan,valid\n", "line 2: extension_factor"),
        (MEASURED_HEADER + "poisson,9,16.5,2,2,1,valid\n", "line 2: processors: must be a whole number"),
        (
            MEASURED_HEADER + "p,9,16,2,2,1.1,valid\np,8,16,2,2,1.2,valid\n",
            "line 3: application: the file says two things",
        ),
        ("application,processors,components,runtime_s\np,8,2,10\n", "line 2: components: there is no time of 'p'"),
        ("some,other\n1,2\n", "holds neither extension factors"),
        ("", "holds neither extension factors"),
    ],
)
def test_a_broken_table_is_refused_by_file_line_and_field(tmp_path, text, sentence):
    file = tmp_path / "factors.csv"
    file.write_text(text)
    with pytest.raises(InvalidInput) as refusal:
        read_factors(file)
    assert str(refusal.value).startswith(str(file))
    assert sentence in str(refusal.value)


def test_a_factor_must_be_one():
    with pytest.raises(InvalidInput, match="extension factor"):
        OneFactor(0)


def test_equal_parts_go_before_unequal_ones_over_as_many_clusters(tmp_path):
    """As `measure --clusters 1,2 --split 24,12` leaves them, in any order; without equal ones the others count."""
    header = "application,grid,processors,components,clusters,extension_factor,verdict\n"
    rows = ["heat,400,36,24+12,2,1.8,valid\n", "heat,400,36,18+18,2,1.5,valid\n", "heat,400,36,20+8+8,3,2.5,valid\n"]
    for number, lines in enumerate((rows, rows[::-1])):
        file = tmp_path / f"{number}.csv"
        file.write_text(header + "".join(lines))
        table = read_factors(file)
        assert [table.factor("heat", 36, clusters) for clusters in (2, 3)] == [1.5, 2.5]


def test_a_file_that_is_no_table_is_refused_though_its_lines_have_more_cells_than_its_first(tmp_path):
    (tmp_path / "factors.csv").write_text('{\n"a": 1, "b": 2\n}\n')
    with pytest.raises(InvalidInput, match="holds neither extension factors"):
        read_factors(tmp_path / "factors.csv")


def test_several_tables_are_one_unless_they_contradict_each_other(tmp_path):
    texts = {
        "poisson": "poisson,100,64,2,2,1.5,valid\npoisson,400,64,2,2,1.2,valid\n",
        "heat": "heat,400,16,2,2,1.3,valid\n",
        "again": "heat,400,16,2,2,1.3,valid\n",
        "other": "heat,400,16,2,2,1.4,valid\n",
    }
    files = {name: tmp_path / f"{name}.csv" for name in texts}
    for name, text in texts.items():
        files[name].write_text(MEASURED_HEADER + text)
    table = joined_factors([files["poisson"], files["heat"], files["again"], PUBLISHED], grid=400)
    assert (table.factor("poisson", 64, 2), table.factor("heat", 16, 2)) == (1.2, 1.3)
    assert table.execution_s("poisson", on((0, 16), (1, 16)), 357) == 402
    with pytest.raises(InvalidInput, match=r"other\.csv: application: has another factor of 'heat' on 16 processors"):
        joined_factors([files["heat"], files["other"]])
    assert joined_factors([PUBLISHED]).digest == read_factors(PUBLISHED).digest
