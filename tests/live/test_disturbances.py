"""Disturbances of a running testbed while jobs run: the verdict on the disturbed job names it, and no other does.

Needs Docker. The bench `tests.bench.disturbances` makes more kinds and strengths.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest

from emulator.containers import engine
from emulator.containers.state import testbed_state
from emulator.containers.telemetry.container_telemetry import container_telemetry
from emulator.measurement.extension import measure
from emulator.model.clock import Dilation
from emulator.model.evidence import LinkFaultRow
from emulator.runs import container_testbed as testbeds
from emulator.runs.matrix import Matrix
from emulator.runs.run_directory import read_rows, read_run
from tests.live.command_line import CommandLine
from tests.live.disturbances import DISTURBANCES, Disturber
from tests.live.disturbing import Scene
from tests.live.test_campaign import ANYWAY, SMALL

ALL = (
    "busy loops: two on every core",
    "link's delay: four times as long",
    "link's rate: half",
    "link's loss: 5%",
    "cluster's CPU quota: a two-hundredth of a core",
    "memory hog: more than its container may have",
    "slow disk: four writers that sync",
)
OF_EACH_KIND = (
    "link's delay: four times as long",
    None,
    "cluster's CPU quota: a two-hundredth of a core",
    "ranks stand still: one of them, 1.5 s",
    "stranger's stream: as fast as it can",
)
"""A change of the programmed links, a job without any disturbance, a lack of a container's resource, and two that take
time without making anything late in a job that mostly waits for another cluster."""

ALTERNATING = (None, *(job for name in ALL for job in (name, None)))
DILATION = 8


@pytest.mark.parametrize(
    ("provoked", "grid", "iterations"),
    [
        pytest.param(OF_EACH_KIND, 400, 60, id="one of each kind"),
        pytest.param(ALTERNATING, 1000, 40, id="all", marks=pytest.mark.long),
    ],
)
def test_each_disturbance_is_held_against_the_job_that_it_met_and_no_other(
    two_sites: CommandLine, tmp_path: Path, provoked: tuple[str | None, ...], grid: int, iterations: int
):
    """Links are restored before a job ends."""
    by_name = {disturbance.shown: disturbance for disturbance in DISTURBANCES}
    plan = [name and by_name[name] for name in provoked]
    matrix = Matrix(
        applications=("poisson",), grids=(grid,), processors=(16,), clusters=(2,), repeat=len(plan),
        iterations=iterations, dilation=DILATION,
    )  # fmt: skip
    disturber = Disturber(Scene.of(two_sites.name, Dilation(DILATION), tmp_path), plan)
    with testbeds.testbed_named(two_sites.name) as held:
        measure(held, matrix, tmp_path / "run", disturber.disturb, every_run_counts=True)
    disturber.finish()
    jobs = read_run(tmp_path / "run").jobs
    unnoticed = [
        f"{disturbance.shown}: {job.verdict} ({job.verdict_reasons})"
        for disturbance, job in zip(plan, jobs, strict=True)
        if disturbance and (job.verdict == "valid" or not disturbance.is_named_in([job.verdict_reasons]))
    ]
    assert unnoticed == []
    changed = [job.job for job in jobs if "programmed anew" in job.verdict_reasons]
    assert changed == [job.job for met, job in zip(plan, jobs, strict=True) if met and "link" in met.kind]
    undisturbed = [job.verdict_reasons for met, job in zip(plan, jobs, strict=True) if met is None]
    assert not any(said in reasons for reasons in undisturbed for said in ("stood still", "traffic of others"))
    assert read_rows(tmp_path / "run", LinkFaultRow)
    manifest = read_run(tmp_path / "run").manifest
    assert manifest.verdict != "valid"
    assert manifest.evidence is not None
    assert manifest.evidence.looks > 10


def test_telemetry_sees_every_link_and_leaves_nothing_behind(two_sites: CommandLine):
    state = testbed_state(two_sites.name)
    client = engine.connect()
    with container_telemetry(client, state.names, tuple(state.topology.cluster_names)) as telemetry:
        for _ in range(3):
            assert len(telemetry.links()) == 2 * 2 + 2 * 1
    host_deadline_s = time.monotonic() + 10
    parts = (*map(state.names.cluster, state.topology.cluster_names), state.names.router)
    containers = [client.containers.get(name) for name in parts]
    while running := [row[-1] for part in containers for row in part.top()["Processes"] if "tc monitor" in row[-1]]:
        assert time.monotonic() < host_deadline_s, running
        time.sleep(0.2)


@pytest.mark.long
def test_jobs_that_arrive_late_are_named(two_sites: CommandLine, tmp_path: Path):
    """The load generator stops for a while, as it does on a host that is too busy for it."""
    file, out = tmp_path / "small.yaml", tmp_path / "run"
    file.write_text(
        SMALL.replace("topology: quick", "topology: two-sites")
        .replace("dilation: 2", "dilation: 1")
        .replace("mean_s: 1", "mean_s: 3")
    )
    decisions = out / "decisions.jsonl"

    def stop_for_a_while() -> None:
        host_deadline_s = time.monotonic() + 120
        while time.monotonic() < host_deadline_s:
            for child in psutil.Process().children(recursive=True):
                has_submitted = decisions.is_file() and '"submitted"' in decisions.read_text()
                if has_submitted and "locust" in " ".join(child.cmdline()):
                    os.kill(child.pid, signal.SIGSTOP)
                    time.sleep(8)
                    os.kill(child.pid, signal.SIGCONT)
                    return
            time.sleep(0.2)

    stopping = threading.Thread(target=stop_for_a_while)
    stopping.start()
    two_sites.succeed("campaign", "run", str(file), "--seed", "1", *ANYWAY, "--out", str(out))
    stopping.join()
    late = [job for job in read_run(out).jobs if "submitted late by" in job.verdict_reasons]
    assert late
    assert all(job.verdict != "valid" for job in late)
