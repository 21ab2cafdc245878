"""Measurements on a running testbed: dilation, extension factors, communication, evidence, and an interruption."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from emulator.model.cell_rows import ExtensionFactorRow
from emulator.model.evidence import EvidenceRow
from emulator.model.records import PilotRow
from emulator.model.views import RunRequest
from emulator.runs.run_directory import read_rows, read_run
from tests.live.command_line import CommandLine
from tests.live.conftest import jobs_of

ITERATIONS = 40
ASKED = ("--grid", "1000", "--processors", "8", "--clusters", "1,2", "--iterations", str(ITERATIONS))


@dataclass(frozen=True)
class Measured:
    """A measurement: what the command printed and said, and the run's directory."""

    printed: list[dict[str, Any]]
    said: str
    out: Path


@pytest.fixture(scope="module")
def measured(two_sites: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Make one measurement, which the tests below examine."""
    out = tmp_path_factory.mktemp("measured") / "run"
    ended = two_sites.succeed(
        "measure", "--communication", *ASKED, "--repeat", "1", "--require", "void", "--json", "--out", str(out)
    )
    return Measured(ended.as_json(), ended.errors, out)


def test_pilots_find_the_dilation_of_its_problem_and_are_recorded(measured: Measured):
    manifest = read_run(measured.out).manifest
    (problem,) = manifest.plan["problems"]
    assert {row.dilation for row in read_rows(measured.out, ExtensionFactorRow)} == {problem["dilation"]}
    pilots = read_rows(measured.out / "pilots", PilotRow)
    assert {pilot.trial.rpartition(" on ")[2] for pilot in pilots} == {
        "8 processors over 1 cluster", "8 processors over 2 clusters",
    }  # fmt: skip
    assert min(pilot.dilation for pilot in pilots) <= problem["dilation"]
    assert all((measured.out / "pilots" / pilot.folder / "manifest.json").is_file() for pilot in pilots)
    assert "poisson grid 1000 on 8 processors at dilation" in measured.said


def test_a_job_over_two_clusters_takes_longer_by_at_least_the_round_trips(measured: Measured):
    single, double = read_rows(measured.out, ExtensionFactorRow)
    assert (single.clusters, single.extension_factor) == (1, 1.0)
    assert (double.clusters, double.components, double.n) == (2, (4, 4), 1)
    assert double.extension_factor == pytest.approx(double.runtime_s / single.runtime_s)
    records = read_run(measured.out)
    one_way_s = records.manifest.topology.path("east", "west").delay_s
    assert double.iteration_s > single.iteration_s + 2 * one_way_s * 0.9
    assert len(records.jobs) >= 4


def test_communication_is_measured_by_process_and_direction_synchronized_and_not(measured: Measured):
    plain, synchronized = (cell for cell in measured.printed if cell["clusters"] == 2)
    assert [plain["synchronized"], synchronized["synchronized"]] == [False, True]
    assert synchronized["data_rate_mbit"] > 0
    one_way_s = read_run(measured.out).manifest.topology.path("east", "west").delay_s
    for found in (plain, synchronized):
        exchange = found["border_exchange"]
        assert [process["component"] for process in exchange] == [0] * 4 + [1] * 4
        # Messages cross the wide area at the border of the components alone, in both directions.
        assert sum(process["left_s"] + process["right_s"] for process in exchange) > ITERATIONS * one_way_s * 0.9
    assert synchronized["communication_s"] > ITERATIONS * one_way_s * 0.9
    assert len(list(measured.out.glob("*.png"))) == 4


def test_the_evidence_of_a_run_is_of_the_host_and_of_every_part(measured: Measured):
    rows, found = read_rows(measured.out, EvidenceRow), read_run(measured.out).manifest.evidence
    assert {row.part for row in rows} == {"host", "command", "east", "west", "wan", "broker"}
    assert all(row.host_cpu_s is not None for row in rows if row.part == "command")
    assert found is not None
    assert not any("queues" in phrase or "containers" in phrase for phrase in found.missing)
    assert found.testbed_cpu_share is not None
    assert 0 < found.testbed_cpu_share < 1
    assert sum(row.segments or 0 for row in rows if row.part == "west") > 80


@pytest.mark.long
def test_an_interrupted_matrix_is_resumed_where_it_was(two_sites: CommandLine, tmp_path: Path):
    out = tmp_path / "run"
    options = ("--app", "poisson,laplace", "--grid", "100", "--processors", "8", "--clusters", "1", "--repeat", "2")

    def one_has_finished() -> bool:
        return (out / "jobs.csv").is_file() and "finished" in (out / "jobs.csv").read_text()

    interrupted = two_sites.interrupted(
        "measure", *options, "--iterations", "400", "--dilation", "8", "--even-if-hopeless", "--out", str(out),
        when=one_has_finished,
    )  # fmt: skip
    assert interrupted.exit_code == 130
    assert "left out: laplace grid 100 on 8 processors: A square process grid" in interrupted.errors
    (row,) = two_sites.succeed("measure", "--resume", str(out), "--require", "void", "--json").as_json()
    assert (row["application"], row["n"]) == ("poisson", 2)
    jobs = read_run(out).jobs
    assert [job.state for job in jobs].count("finished") == 2
    assert two_sites("measure", "--resume", str(out)).sentence.endswith("shows it).")


def test_faster_processors_shorten_computing_alone(two_sites: CommandLine) -> None:
    with jobs_of(two_sites) as grid:
        run = grid.client.take_run(RunRequest(name="scaled", dilation=4, paced_middleware=False)).id
        grid.client.start_run(run)
        arguments = {"grid": 1000, "iterations": 20, "tolerance": 0}
        try:
            jobs = [
                grid.finished(grid.submit(4, run=run, arguments=arguments, processor_speed=speed)) for speed in (1, 4)
            ]
        finally:
            grid.client.end_run(run)
        plain_s, scaled_s = (job.result["iteration_s"] for job in jobs if job.result)
        assert scaled_s == pytest.approx(plain_s / 4, rel=0.1)
