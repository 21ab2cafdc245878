"""The verb `export` as a user meets it: files where they were asked for, one sentence for what cannot be meant."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner, Result

from emulator.cli.main import app
from emulator.model.catalogue import topology_named
from emulator.model.errors import TestbedError
from emulator.model.project import PROJECT_ROOT
from emulator.model.records import JobRow, Manifest, RunKind
from emulator.runs.run_directory import RunDirectory


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["export", *arguments])


@pytest.fixture
def mini_run(tmp_path: Path) -> str:
    manifest = Manifest(
        kind=RunKind.CAMPAIGN, name="first", verdict="valid", topology=topology_named("mini"), workload={}, jobs=1,
        policy="wf", queue="placement", seed=1, dilation=2, paced_middleware=True, host_began_at="", host={},
        versions={},
    )  # fmt: skip
    with RunDirectory(tmp_path / "run", manifest):
        return str(tmp_path / "run")


def simgrid(folder: Path, *arguments: str, source: str = "das2") -> dict[str, object]:
    shown = run(source, "--format", "simgrid", "--out", str(folder), "--json", *arguments)
    assert shown.exit_code == 0, shown.output
    (row,) = json.loads(shown.stdout)
    assert set(row["files"]) == {path.name for path in folder.iterdir()}
    return json.loads((folder / "parameters.json").read_text(encoding="utf-8"))


def comment(folder: Path) -> str:
    return (folder / "platform.xml").read_text(encoding="utf-8").split("-->")[0]


def test_the_command_that_is_shown_runs_in_a_folder_with_a_space(tmp_path: Path) -> None:
    shown = run("das2", "--format", "simgrid", "--out", str(tmp_path / "my out")).stdout
    assert f"sh '{tmp_path}/my out/predict.sh'" in shown


def test_the_files_and_the_commands_are_named(tmp_path: Path) -> None:
    shown = run("das2", "--format", "simgrid", "--clusters", "2", "--out", str(tmp_path / "out")).stdout
    assert "smpicc " in shown
    assert "smpirun -np 16" in shown
    assert (tmp_path / "out" / "predict.sh").is_file()


def test_the_interconnect_is_that_of_the_jobs_clusters_unless_named(tmp_path: Path) -> None:
    expected = {(): "myrinet", ("--clusters", "2"): "ethernet", ("--interconnect", "coallocated"): "ethernet",
                ("--clusters", "4", "--interconnect", "single-cluster"): "myrinet"}  # fmt: skip
    for number, (arguments, interconnect) in enumerate(expected.items()):
        folder = tmp_path / str(number)
        simgrid(folder, *arguments)
        assert f"inside a cluster {interconnect}" in comment(folder)


def test_the_job_is_the_one_asked_for(tmp_path: Path) -> None:
    words = "--grid 50 --processors 8 --clusters 2 --on leiden,delft --exchange overlapped --iterations 7"
    found = simgrid(tmp_path / "out", *words.split())
    assert (found["grid"], found["processes"], found["iterations"], found["exchange"]) == (50, 8, 7, "overlapped")
    assert found["cluster"] == [0, 0, 0, 0, 1, 1, 1, 1]
    hosts = (tmp_path / "out" / "hosts").read_text(encoding="utf-8").split()
    assert (hosts[0], hosts[-1]) == ("leiden.0.0", "delft.1.1")


def test_the_application_may_be_another_one_of_a_grid(tmp_path: Path) -> None:
    found = simgrid(tmp_path / "out", "--app", "laplace", "--processors", "36", "--clusters", "4")
    assert (found["application"], found["exchange"], found["iterations"]) == ("laplace", "overlapped", 21)


def test_a_runs_directory_stands_for_its_topology(tmp_path: Path, mini_run: str) -> None:
    simgrid(tmp_path / "out", source=mini_run)
    root = ET.parse(tmp_path / "out" / "platform.xml").getroot()
    assert len(list(root.iter("host"))) == topology_named("mini").processors


@pytest.mark.parametrize(
    ("format_name", "files"),
    [
        ("swf", {"jobs.swf", "components.csv"}),
        ("gwf", {"jobs.gwf"}),
        ("batsim", {"workload.json", "jobs.csv"}),
        ("trace", {"datapackage.json", "runs.csv", "jobs.csv", "components.csv"}),
    ],
)
def test_the_jobs_of_a_run_are_written(format_name: str, files: set[str], mini_run: str, tmp_path: Path) -> None:
    job = JobRow(
        job=1, name="job-1", application="poisson", request="non-fixed", components=(4, 4), processors=8,
        state="finished", submitted_s=1.0, started_s=2.0, finished_s=5.0, wait_time_s=1.0, execution_time_s=3.0,
        response_time_s=4.0, execution_clusters=("delft", "leiden"), verdict="valid",
    )  # fmt: skip
    (Path(mini_run) / "jobs.csv").write_text(
        f"{','.join(JobRow.columns())}\n{','.join(job.cells())}\n", encoding="utf-8"
    )
    shown = run(mini_run, "--format", format_name, "--out", str(tmp_path / "out"), "--json")
    assert set(json.loads(shown.stdout)[0]["files"]) == files == {path.name for path in (tmp_path / "out").iterdir()}


def test_a_trace_is_of_all_runs_in_a_directory(tmp_path: Path) -> None:
    campaigns = PROJECT_ROOT / "docs/results/campaigns"
    shown = run(str(campaigns), "--format", "trace", "--license", "CC-BY-4.0", "--out", str(tmp_path / "out"))
    assert shown.exit_code == 0, shown.output
    assert '"CC-BY-4.0"' in (tmp_path / "out/datapackage.json").read_text(encoding="utf-8")
    text = (tmp_path / "out/runs.csv").read_text(encoding="utf-8")
    assert {line.split(",")[0] for line in text.splitlines()[1:]} == {
        path.parent.name for path in campaigns.glob("*/manifest.json")
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("das2", "--format", "trace"), "das2: is no run's directory"),
        (("das2", "--format", "swf"), "das2: is no run's directory"),
        (("das2", "--format", "gwf"), "das2: is no run's directory"),
        (("das2", "--format", "batsim"), "das2: is no run's directory"),
        (("das2", "--format", "gexf"), "no export format 'gexf'"),
        (("das2", "--format", "swf", "--license", "MIT"), "--license: only --format trace has this, not swf"),
        (("das2", "--format", "trace", "--grid", "4000"), "--grid: only --format simgrid has this, not trace"),
        (("das2", "--format", "topology", "--on", "delft"), "--on: only --format simgrid has this, not topology"),
        (("nowhere", "--format", "simgrid"), "no topology 'nowhere'"),
        (("das2", "--format", "simgrid", "--app", "ensflow"), "no grid application 'ensflow'"),
        (("das2", "--format", "swf", "--app", "heat"), "--app: only --format simgrid has this, not swf"),
        (("das2", "--format", "simgrid", "--clusters", "3"), "16 processors cannot be divided over 3 clusters"),
        (("das2", "--format", "simgrid", "--clusters", "6"), "1 to 5 clusters, not 6"),
        (("das2", "--format", "simgrid", "--clusters", "0"), "1 to 5 clusters, not 0"),
        (("das2", "--format", "simgrid", "--on", "paris"), "no cluster 'paris'"),
        (("das2", "--format", "simgrid", "--on", "delft,leiden"), "--on: names 2 clusters, but the job is spread"),
        (("das2", "--format", "simgrid", "--processors", "200"), "does not fit into vrije-universiteit"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    found = run(*arguments, "--out", str(tmp_path / "out"))
    assert isinstance(found.exception, TestbedError)
    assert sentence in str(found.exception)
    assert not (tmp_path / "out").exists()


def test_the_topology_of_a_run_is_written_as_up_reads_it(tmp_path: Path, mini_run: str) -> None:
    shown = run(mini_run, "--format", "topology", "--out", str(tmp_path / "out"), "--json")
    assert json.loads(shown.stdout)[0]["files"] == ["topology.yaml"]
    assert topology_named(str(tmp_path / "out" / "topology.yaml")) == topology_named("mini")


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    found = run("das2", "--format", "simgrid", "--out", str(tmp_path))
    assert "is not empty" in str(found.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
