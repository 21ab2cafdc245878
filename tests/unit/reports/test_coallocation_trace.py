"""Runs as a trace: what was asked for, what was placed and when, factors, and a description of each column.

The shipped trace, `docs/results/coallocation-trace`, is what the shipped campaigns give.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.project import PROJECT_ROOT
from emulator.model.records import ComponentRow, JobRow, Manifest, RunKind
from emulator.reports.exports.coallocation_trace import coallocation_trace
from emulator.reports.exports.data_package import trace_files
from emulator.runs.run_directory import RunDirectory, RunRecords, read_run

CAMPAIGNS = PROJECT_ROOT / "docs/results/campaigns"
SHIPPED = PROJECT_ROOT / "docs/results/coallocation-trace"
TYPES = {"integer": int, "number": float, "string": str}


def job(number: int, iterations: int, runtime_s: float, *places: tuple[str, int], state: str = "finished") -> JobRow:
    clusters = tuple(cluster for cluster, _ in places)
    return JobRow(
        job=number, name=f"job-{number}", application="poisson", processors=8, components=(8,), state=state,
        request="flexible", arguments=f'{{"grid": 400, "iterations": {iterations}}}', iterations=iterations,
        submitted_s=float(number), execution_clusters=clusters, clusters=len(set(clusters)) or None,
        runtime_s=runtime_s, verdict="valid",
    )  # fmt: skip


def run_of(folder: Path, jobs: dict[JobRow, tuple[tuple[str, int], ...]], **stated: object) -> RunRecords:
    manifest = Manifest(
        kind=RunKind.CAMPAIGN, name="first", verdict="valid", topology=topology_named("mini"), jobs=len(jobs),
        policy="fcm", queue="placement", seed=1, dilation=2, paced_middleware=True, host_began_at="", host={},
        versions={}, **{"workload": {}, **stated},
    )  # fmt: skip
    with RunDirectory(folder, manifest) as directory:
        for row, places in jobs.items():
            for index, (cluster, size) in enumerate(places):
                directory.append(ComponentRow(job=row.job, component=index, cluster=cluster, processors=size))
            directory.append(row)
    return read_run(folder)


def placed(number: int, iterations: int, runtime_s: float, *places: tuple[str, int], state: str = "finished"):
    return {job(number, iterations, runtime_s, *places, state=state): places}


def tables(*runs: RunRecords, license_name: str | None = None) -> dict[str, list[dict[str, str]]]:
    files = trace_files(coallocation_trace(runs), license_name)
    return {name: list(csv.DictReader(io.StringIO(text))) for name, text in files.items() if name.endswith(".csv")}


def test_a_flexible_job_has_the_components_that_were_asked_for_and_those_that_were_placed(tmp_path: Path) -> None:
    run = run_of(tmp_path / "one", placed(1, 10, 5.0, ("delft", 5), ("leiden", 3)))
    (found,) = tables(run)["jobs.csv"]
    assert (found["run"], found["components"], found["clusters"]) == ("one", "8", "2")
    assert (found["placed_components"], found["placed_clusters"]) == ("5+3", "delft+leiden")
    assert [(row["cluster"], row["processors"]) for row in tables(run)["components.csv"]] == [
        ("delft", "5"), ("leiden", "3")
    ]  # fmt: skip


def test_a_factor_compares_iterations_with_those_of_equal_jobs_in_one_cluster_of_the_same_run(tmp_path: Path) -> None:
    one = run_of(
        tmp_path / "one",
        placed(1, 10, 10.0, ("delft", 8))
        | placed(2, 20, 24.0, ("delft", 8))
        | placed(3, 10, 16.5, ("delft", 4), ("leiden", 4))
        | placed(4, 10, 90.0, ("delft", 8), state="failed"),
    )
    two = run_of(tmp_path / "two", placed(1, 10, 16.5, ("delft", 4), ("leiden", 4)))
    factors = [row["extension_factor"] for row in tables(one, two)["jobs.csv"]]
    assert [factor and float(factor) for factor in factors] == ["", "", pytest.approx(1.5), "", ""]


def test_a_job_in_one_cluster_as_if_it_were_co_allocated_is_no_reference(tmp_path: Path) -> None:
    carriers = {1: "myrinet", 2: "ethernet", 3: "ethernet+wide-area"}
    jobs = (
        placed(1, 10, 10.0, ("delft", 8)) | placed(2, 10, 14.0, ("delft", 8))
        | placed(3, 10, 15.0, ("delft", 4), ("leiden", 4))
    )  # fmt: skip
    carried = {row.model_copy(update={"interconnects": carriers[row.job]}): places for row, places in jobs.items()}
    factors = [row["extension_factor"] for row in tables(run_of(tmp_path / "one", carried))["jobs.csv"]]
    assert [factor and float(factor) for factor in factors] == ["", "", pytest.approx(1.5)]


def test_a_job_that_was_never_placed_has_no_placement(tmp_path: Path) -> None:
    run = run_of(tmp_path / "one", placed(1, 10, 0.0, state="cancelled"))
    (found,) = tables(run)["jobs.csv"]
    assert (found["placed_components"], found["placed_clusters"], found["clusters"]) == ("", "", "")


def test_a_component_whose_job_was_run_again_is_left_out(tmp_path: Path) -> None:
    recorded = run_of(tmp_path, placed(1, 10, 5.0, ("delft", 4)))
    superseded = replace(recorded, components=[*recorded.components, ComponentRow(
        job=9, component=0, cluster="delft", processors=4)])  # fmt: skip
    assert [row["job"] for row in tables(superseded)["components.csv"]] == ["1"]


def test_the_background_load_of_a_run_is_stated(tmp_path: Path) -> None:
    stated = {"workload": {"background": {"band": [0.15, 0.2]}}, "background": {"share_in_band": 0.97}}
    run = run_of(tmp_path / "one", placed(1, 10, 5.0, ("delft", 8)), **stated)
    (found,) = tables(run)["runs.csv"]
    assert (found["band_low"], found["band_high"], found["share_in_band"]) == ("0.15", "0.2", "0.97")
    assert found["processors"].count("+") == found["clusters"].count("+") == len(run.manifest.topology.clusters) - 1


def test_every_column_is_described_and_its_values_have_the_type(tmp_path: Path) -> None:
    run = run_of(tmp_path / "one", placed(1, 10, 5.0, ("delft", 5), ("leiden", 3)))
    files = trace_files(coallocation_trace([run]), "CC-BY-4.0")
    package = json.loads(files["datapackage.json"])
    assert package["licenses"] == [{"name": "CC-BY-4.0"}]
    assert {resource["path"] for resource in package["resources"]} == set(files) - {"datapackage.json"}
    for resource in package["resources"]:
        fields = {field["name"]: field for field in resource["schema"]["fields"]}
        rows = list(csv.DictReader(io.StringIO(files[resource["path"]])))
        assert list(fields) == list(rows[0])
        assert set(resource["schema"]["primaryKey"]) <= set(fields)
        assert all(field["description"] for field in fields.values())
        for row in rows:
            for name, cell in row.items():
                assert cell == "" or TYPES[fields[name]["type"]](cell) is not None


def test_a_license_that_is_not_stated_is_not_invented(tmp_path: Path) -> None:
    run = run_of(tmp_path / "one", placed(1, 10, 5.0, ("delft", 8)))
    assert "licenses" not in json.loads(trace_files(coallocation_trace([run]), None)["datapackage.json"])


def test_the_shipped_trace_is_that_of_the_shipped_campaigns() -> None:
    runs = [read_run(path.parent) for path in sorted(CAMPAIGNS.glob("*/manifest.json"))]
    expected = trace_files(coallocation_trace(runs), "Apache-2.0")
    assert {path.name: path.read_text(encoding="utf-8") for path in SHIPPED.iterdir()} == expected
