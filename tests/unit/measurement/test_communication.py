"""Communication measured: rows from the applications' records, by process and direction, and the rate they come to."""

from __future__ import annotations

import pytest

from emulator.measurement.extension import measure, resume
from emulator.runs.matrix import Matrix
from emulator.runs.progress import ProgressReport
from emulator.runs.run_directory import read_run

MATRIX = Matrix(
    applications=("poisson",), grids=(100,), processors=(16,), clusters=(1, 2), repeat=2, iterations=50,
    communication=True, dilation=8,
)  # fmt: skip


def silent(progress: ProgressReport) -> None:
    pass


def communicating(job, run: int) -> dict[str, object]:
    """What Poisson's record says of communication; a run's times grow with its number."""
    synchronized = job.specification.arguments.get("synchronized", False)
    directions = {"top": 0.1, "bottom": 0.2, "left": 0.3, "right": 0.4 + run}
    return {
        "iterations": 50, "process_columns": 4, "process_rows": 4, "exchange": "steps", "synchronized": synchronized,
        "communication_s": (2.0 if synchronized else 1.0) + 0.1 * run,
        "border_exchange_s": [dict(directions, top=0.1 * process) for process in range(16)],
        "border_exchange_bytes": 1600,
    }  # fmt: skip


@pytest.fixture
def recorded(testbed, broker, tmp_path):
    seen: dict[str, int] = {}

    def results(job) -> dict[str, object]:
        name = job.specification.name
        seen[name] = seen.get(name, -1) + 1
        return communicating(job, seen[name])

    broker.more_results = results
    measured = measure(testbed, MATRIX, tmp_path / "run", silent)
    return measured, read_run(tmp_path / "run")


def test_each_cell_has_a_total_synchronized_and_not(recorded):
    _, records = recorded
    assert [(row.clusters, row.synchronized) for row in records.communication] == [
        (1, False), (1, True), (2, False), (2, True),
    ]  # fmt: skip
    row = records.communication[1]
    assert (row.communication_s, row.least_s, row.most_s, row.n) == (pytest.approx(2.05), 2.0, 2.1, 2)
    assert row.ci_low < row.communication_s < row.ci_high
    assert (row.iterations, row.exchange, row.border_exchange_bytes) == (50, "steps", 1600)


def test_the_data_rate_is_what_an_interior_process_moves_over_synchronized_time(recorded):
    _, records = recorded
    rates_mbit = [row.data_rate_mbit for row in records.communication]
    assert rates_mbit[0] is None
    assert rates_mbit[1] == pytest.approx(16 * 100 * 50 / 2.05 * 8 / 1e6)


def test_each_process_has_its_place_its_component_and_its_mean_times(recorded):
    _, records = recorded
    rows = [row for row in records.border_exchange if row.clusters == 2 and row.synchronized]
    assert [row.process for row in rows] == list(range(16))
    assert [(rows[index].column, rows[index].row) for index in (0, 3, 4, 15)] == [(0, 0), (0, 3), (1, 0), (3, 3)]
    assert [row.component for row in rows] == [0] * 8 + [1] * 8
    assert (rows[5].top_s, rows[5].right_s) == (pytest.approx(0.5), pytest.approx(0.9))
    assert rows[5].total_s == pytest.approx(0.5 + 0.2 + 0.3 + 0.9)
    assert rows[5].ci_low < rows[5].total_s < rows[5].ci_high
    assert rows[5].n == 2


def test_synchronized_runs_are_in_no_extension_factor(recorded):
    measured, records = recorded
    assert [(row.clusters, row.n) for row in records.extension_factors] == [(1, 2), (2, 2)]
    assert measured.communication.totals == tuple(records.communication)


def test_borders_exchanged_all_at_once_have_a_total_and_no_directions(testbed, broker, tmp_path):
    broker.more_results = lambda job: {
        **communicating(job, 0), "exchange": "overlapped", "border_exchange_s": [{"total": 0.5}] * 16,
    }  # fmt: skip
    measure(testbed, MATRIX, tmp_path / "run", silent)
    row = read_run(tmp_path / "run").border_exchange[0]
    assert (row.top_s, row.right_s, row.total_s) == (None, None, 0.5)


def test_without_communication_there_are_no_such_records(testbed, broker, tmp_path):
    broker.more_results = lambda job: communicating(job, 0)
    measure(testbed, MATRIX.model_copy(update={"communication": False}), tmp_path / "run", silent)
    assert not (tmp_path / "run" / "communication.csv").exists()
    assert not (tmp_path / "run" / "border_exchange.csv").exists()


def test_a_resumed_measurement_has_the_communication_of_all_its_runs(testbed, broker, tmp_path):
    broker.more_results = lambda job: communicating(job, 0)

    def report_progress(progress: ProgressReport) -> None:
        if progress.finished >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(testbed, MATRIX, tmp_path / "run", report_progress)
    resume(testbed, tmp_path / "run", silent)
    assert [row.n for row in read_run(tmp_path / "run").communication] == [2, 2, 2, 2]
