"""Simulations on dask: the same outcomes on any number of workers, kept as they come, resumed where they stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from emulator.model.errors import InvalidInput, RunFailed
from emulator.simulator.parallel_simulations import (
    OUTCOMES_VERSION,
    Outcome,
    ParallelSimulations,
    SimulationsProgress,
    Workforce,
    _line,
)
from emulator.studies.catalogue import Chart, Measures, Study
from emulator.studies.simulation_study import conduct, scale_of


@dataclass(frozen=True)
class Square:
    """A case that leaves a mark each time it runs."""

    number: int
    marks: Path

    @property
    def key(self) -> str:
        return f"square {self.number}"

    def run(self) -> Outcome:
        if self.number < 0:
            raise RunFailed(f"{self.number} is refused.")
        with self.marks.open("a") as marks:
            marks.write(f"{self.number}\n")
        return {"square": self.number**2}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_outcomes_come_in_the_order_of_the_cases_and_progress_is_told(client: Any, tmp_path: Path) -> None:
    reports: list[SimulationsProgress] = []
    cases = [Square(number, tmp_path / "marks") for number in (3, 1, 2, 3)]
    found = ParallelSimulations(client, report_progress=reports.append).outcomes(cases)
    assert [outcome["square"] for outcome in found] == [9, 1, 4, 9]
    assert [(progress.done, progress.total) for progress in reports] == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_what_was_interrupted_runs_only_what_is_missing(client: Any, tmp_path: Path) -> None:
    marks, store = tmp_path / "marks", tmp_path / "outcomes.jsonl"
    ParallelSimulations(client, store).outcomes([Square(number, marks) for number in (1, 2)])
    with store.open("a") as lines:
        lines.write('{"case": "square 3", "outc')
    resumed = ParallelSimulations(client, store)
    found = resumed.outcomes([Square(number, marks) for number in (1, 2, 3)])
    assert [outcome["square"] for outcome in found] == [1, 4, 9]
    assert sorted(marks.read_text().split()) == ["1", "2", "3"]


def test_an_outcome_that_was_kept_has_its_values_in_the_same_order(client: Any, tmp_path: Path) -> None:
    store = tmp_path / "outcomes.jsonl"
    store.write_text(_line("square 3", {"square": 9, "a": 1}))
    (found,) = ParallelSimulations(client, store).outcomes([Square(3, tmp_path / "marks")])
    assert list(found) == ["square", "a"]


def test_the_same_cases_leave_equal_files(client: Any, tmp_path: Path) -> None:
    for name, numbers in (("a", (1, 2, 3, 4)), ("b", (4, 2, 3, 1))):
        simulations = ParallelSimulations(client, tmp_path / name)
        simulations.outcomes([Square(number, tmp_path / "marks") for number in numbers])
        simulations.tidy()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_workers_may_be_elsewhere(client: Any, tmp_path: Path) -> None:
    with Workforce(scheduler=client.scheduler.address).assembled() as elsewhere:
        assert ParallelSimulations(elsewhere).outcomes([Square(7, tmp_path / "marks")]) == [{"square": 49}]


def test_a_case_that_fails_ends_all_with_its_error(client: Any, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="-1 is refused"):
        ParallelSimulations(client).outcomes([Square(-1, tmp_path / "marks")])


def test_a_store_that_no_simulations_wrote_is_refused_by_line(client: Any, tmp_path: Path) -> None:
    (tmp_path / "store").write_text('{"case": "x", "outcome": {}}\nnonsense\n')
    with pytest.raises(InvalidInput, match="store, line 2"):
        ParallelSimulations(client, tmp_path / "store")


def test_no_workers_are_no_workforce() -> None:
    with pytest.raises(InvalidInput, match="--workers"):
        Workforce(workers=0)


def test_there_is_a_worker_for_each_processor_also_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, Any] = {}

    def start(**options: Any) -> None:
        started.update(options)
        raise RunFailed("That is enough.")

    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    monkeypatch.setattr("distributed.LocalCluster", start)
    with pytest.raises(RunFailed, match="That is enough"), Workforce().assembled():
        pass
    assert started["n_workers"] == 6


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(RunFailed, match="dask scheduler at 'nonsense://x'"),
        Workforce(scheduler="nonsense://x").assembled(),
    ):
        pass


@pytest.mark.parametrize(
    "measures",
    [
        Measures.RESPONSE,
        *(pytest.param(kind, marks=pytest.mark.long) for kind in Measures if kind is not Measures.RESPONSE),
    ],
)
def test_a_study_gives_the_same_result_again(client: Any, tmp_path: Path, measures: Measures) -> None:
    shares_nodes = measures is Measures.SHARED_NODES
    chart = Chart("sit", ("normal/linux", "basic/ccs")) if shares_nodes else Chart("50-50-0-0", ("gs", "lp-rd"))
    small = Study("small", "A small study", "no figure", measures, (chart,))
    scale = scale_of(small, jobs=10 if shares_nodes else 1000, replications=2)
    results = [conduct(small, scale, ParallelSimulations(client, tmp_path / name)) for name in ("a", "b")]
    assert results[0] == results[1]
    assert {(row.workload, row.queue) for row in results[0].rows} == set(small.cells)


def test_a_study_that_another_version_stored_is_simulated_anew(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Study("small", "A small study", "no figure", Measures.UTILIZATION, (Chart("50-50-0-0", ("gs",)),))
    scale = scale_of(small, jobs=1000, replications=2)
    known: list[int] = []
    for version in (OUTCOMES_VERSION, OUTCOMES_VERSION, OUTCOMES_VERSION + 1):
        monkeypatch.setattr("emulator.studies.cases.OUTCOMES_VERSION", version)
        reports: list[SimulationsProgress] = []
        conduct(small, scale, ParallelSimulations(client, tmp_path / "outcomes.jsonl", reports.append))
        known.append(reports[0].done)
    assert known == [0, 2, 0]
