"""Communication shown: tables as in the measurement study, published values only beside their own configuration."""

from __future__ import annotations

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.cell_rows import BorderExchangeRow, CommunicationRow
from emulator.reports.communication_figures import write_figures
from emulator.reports.communication_tables import (
    cell_of,
    cell_title,
    communication_objects,
    communication_table,
    direction_table,
    process_table,
)
from emulator.reports.published_communication import published_iteration_s

DAS2 = topology_named("das2")


def total(**changes: object) -> CommunicationRow:
    return CommunicationRow.model_validate(
        {
            "application": "poisson", "grid": 100, "processors": 16, "components": (8, 8), "clusters": 2,
            "interconnect": "ethernet", "dilation": 8, "exchange": "steps", "synchronized": True, "iterations": 50,
            "communication_s": 0.3, "ci_low": 0.25, "ci_high": 0.35, "least_s": 0.28, "most_s": 0.33,
            "border_exchange_bytes": 1600, "data_rate_mbit": 2.4, "n": 3, "verdict": "valid", **changes,
        }
    )  # fmt: skip


def processes(**changes: object) -> list[BorderExchangeRow]:
    return [
        BorderExchangeRow.model_validate(
            {
                "application": "poisson", "grid": 100, "processors": 16, "clusters": 2, "interconnect": "ethernet",
                "synchronized": True, "process": process, "column": process // 4, "row": process % 4,
                "component": process // 8, "top_s": 0.01, "bottom_s": 0.02, "left_s": 0.03, "right_s": 0.04,
                "total_s": process / 10, "n": 3,
                **changes,
            }
        )
        for process in range(16)
    ]  # fmt: skip


def test_published_values_are_those_of_an_iteration():
    assert published_iteration_s(total(), DAS2) == pytest.approx(11.8 / 2132)
    assert published_iteration_s(total(synchronized=False), DAS2) == pytest.approx(4.16 / 2132)
    single = total(clusters=1, components=(16,), interconnect="myrinet")
    assert published_iteration_s(single, DAS2) == pytest.approx(0.39 / 2132)


@pytest.mark.parametrize(
    "changes",
    [
        {"grid": 200}, {"processors": 32}, {"application": "laplace"}, {"exchange": "overlapped"},
        {"interconnect": "shared-memory"}, {"clusters": 3}, {"clusters": 2, "interconnect": "myrinet"},
    ],
)  # fmt: skip
def test_nothing_was_published_of_other_configurations(changes):
    assert published_iteration_s(total(**changes), DAS2) is None


def test_nothing_was_published_of_other_topologies():
    assert published_iteration_s(total(), topology_named("mini")) is None


def test_synchronized_and_other_times_stand_in_one_row():
    other = total(synchronized=False, communication_s=0.1, ci_low=None, ci_high=None, data_rate_mbit=None)
    (row,) = communication_table([other, total()], DAS2)
    assert row["synchronized (ms)"] == "6 [5, 7]"
    assert row["not (ms)"] == "2"
    assert row["synchronized, published"] == "5.53"
    assert row["MB/s"] == "0.3"


def test_unequal_parts_are_a_cell_of_their_own():
    """Equal and unequal parts over as many clusters, as `measure --clusters 2 --split 12,4` has them."""
    unequal = {"components": (12, 4)}
    totals = [total(), total(communication_s=0.6, ci_low=None, ci_high=None, **unequal)]
    rows = communication_table(totals, DAS2)
    assert [(row["cell"], row["synchronized (ms)"]) for row in rows] == [
        ("poisson 100, 16 over 2", "6 [5, 7]"), ("poisson 100, 16 over 2 (12+4)", "12"),
    ]  # fmt: skip
    assert [row["synchronized, published"] for row in rows] == ["5.53", ""]
    found = communication_objects(totals, [*processes(components=(8, 8)), *processes(total_s=9.0, **unequal)])
    assert [cell["border_exchange"][0]["total_s"] for cell in found] == [0.0, 9.0]
    assert cell_title(cell_of(totals[1])) == "poisson grid 100 on 16 processors over 2 clusters (12+4) (ethernet)"


def test_without_published_values_there_is_no_column_for_them():
    (row,) = communication_table([total()], topology_named("mini"))
    assert [column for column in row if "published" in column] == []


def test_processes_stand_where_they_are_in_the_process_grid_top_row_first():
    rows = process_table(processes())
    assert list(rows[0].values()) == ["3: 0.3", "7: 0.7", "11: 1.1", "15: 1.5"]
    assert next(iter(rows[-1].values())) == "0: 0"


def test_directions_are_missing_where_all_borders_go_at_once():
    row = direction_table(processes(top_s=None, bottom_s=None, left_s=None, right_s=None))[1]
    assert (row["top (s)"], row["total (s)"]) == ("", "0.1")
    assert direction_table(processes())[1]["left (s)"] == "0.03"


def test_programs_get_each_total_with_its_processes():
    objects = communication_objects([total(synchronized=False), total()], processes())
    assert [len(cell["border_exchange"]) for cell in objects] == [0, 16]
    assert objects[1]["border_exchange"][3]["right_s"] == 0.04


def test_each_figure_is_drawn_alike_from_the_same_rows(tmp_path):
    totals, rows = [total(synchronized=False, data_rate_mbit=None), total()], processes()
    names = [path.name for path in write_figures(tmp_path, totals, rows, DAS2)]
    assert names == [
        "communication_time.png",
        "data_rate.png",
        "border_exchange_processes-poisson-100-on-16.png",
        "border_exchange_directions-poisson-100-on-16.png",
    ]
    first = [(tmp_path / name).read_bytes() for name in names]
    assert all(picture.startswith(b"\x89PNG") for picture in first)
    write_figures(tmp_path, totals, rows, DAS2)
    assert [(tmp_path / name).read_bytes() for name in names] == first


def test_no_figure_by_direction_without_directions(tmp_path):
    rows = processes(top_s=None, bottom_s=None, left_s=None, right_s=None)
    names = [path.name for path in write_figures(tmp_path, [total(data_rate_mbit=None)], rows, DAS2)]
    assert names == ["communication_time.png", "border_exchange_processes-poisson-100-on-16.png"]
