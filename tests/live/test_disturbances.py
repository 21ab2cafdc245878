"""Disturbances of a running testbed while jobs run: the verdict on the disturbed job names it, and no other does.

Needs Docker. The bench `tests.bench.disturbances` makes more kinds and strengths.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from emulator.containers import engine
from emulator.containers.state import testbed_state
from emulator.containers.telemetry import container_telemetry
from emulator.measurement.extension import measure
from emulator.model.clock import Dilation
from emulator.model.evidence import LinkFaultRow
from emulator.model.records import JobRow
from emulator.runs import container_testbed as testbeds
from emulator.runs.matrix import Matrix
from emulator.runs.run_directory import read_rows, read_run
from tests.live.command_line import CommandLine
from tests.live.disturbances import DISTURBANCES, Disturbance, Disturber
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


def disturbed(
    two_sites: CommandLine, folder: Path, plan: Sequence[Disturbance | None], grid: int, iterations: int
) -> list[JobRow]:
    """Run a job for each disturbance of `plan`, which it meets; None is a job that meets none."""
    matrix = Matrix(
        applications=("poisson",), grids=(grid,), processors=(16,), clusters=(2,), repeat=len(plan),
        iterations=iterations, dilation=DILATION,
    )  # fmt: skip
    folder.mkdir()
    disturber = Disturber(Scene.of(two_sites.name, Dilation(DILATION), folder), plan)
    with testbeds.testbed_named(two_sites.name) as held:
        measure(held, matrix, folder / "run", disturber.disturb, every_run_counts=True)
    disturber.finish()
    return read_run(folder / "run").jobs


def unnoticed(plan: Sequence[Disturbance | None], jobs: Sequence[JobRow]) -> list[Disturbance]:
    """Return the disturbances that the verdicts on the jobs that met them do not name."""
    return [
        disturbance
        for disturbance, job in zip(plan, jobs, strict=True)
        if disturbance and (job.verdict == "valid" or not disturbance.is_named_in([job.verdict_reasons]))
    ]


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
    jobs = disturbed(two_sites, tmp_path / "first", plan, grid, iterations)
    left = unnoticed(plan, jobs)
    # One rank's standstill has been seen to go unnoticed ("What is not modelled yet", docs/fidelity.md): such a
    # disturbance is provoked again.
    for attempt in ("second", "third"):
        if left:
            left = unnoticed(left, disturbed(two_sites, tmp_path / attempt, left, grid, iterations))
    assert [disturbance.shown for disturbance in left] == []
    changed = [job.job for job in jobs if "programmed anew" in job.verdict_reasons]
    links = [job.job for met, job in zip(plan, jobs, strict=True) if met and "link" in met.kind]
    assert set(changed) <= set(links)
    undisturbed = [job.verdict_reasons for met, job in zip(plan, jobs, strict=True) if met is None]
    assert not any(said in reasons for reasons in undisturbed for said in ("stood still", "traffic of others"))
    assert read_rows(tmp_path / "first" / "run", LinkFaultRow)
    manifest = read_run(tmp_path / "first" / "run").manifest
    assert manifest.verdict != "valid"
    assert manifest.evidence is not None
    assert manifest.evidence.looks > 10


def test_telemetry_sees_every_link_and_leaves_nothing_behind(two_sites: CommandLine):
    state = testbed_state(two_sites.name)
    client = engine.connect()
    with container_telemetry.container_telemetry(client, state.names, tuple(state.topology.cluster_names)) as telemetry:
        for _ in range(3):
            assert len(telemetry.links()) == 2 * 2 + 2 * 1
    host_deadline_s = time.monotonic() + 10
    parts = (*map(state.names.cluster, state.topology.cluster_names), state.names.router)
    containers = [client.containers.get(name) for name in parts]
    while running := [row[-1] for part in containers for row in part.top()["Processes"] if "tc monitor" in row[-1]]:
        assert time.monotonic() < host_deadline_s, running
        time.sleep(0.2)


def test_another_host_is_read_through_its_containers_as_this_one_is(two_sites: CommandLine, monkeypatch):
    """This machine stands for the other host: the second cluster is said to be elsewhere, and no boot is the same."""
    state = testbed_state(two_sites.name)
    first, second = state.topology.cluster_names
    elsewhere = {state.names.cluster(second): "right"}
    monkeypatch.setattr(container_telemetry, "unseen_host", lambda client, name: elsewhere.get(name, ""))
    monkeypatch.setattr(container_telemetry, "BOOT", "/proc/sys/kernel/random/uuid")
    client = engine.connect()
    with container_telemetry.container_telemetry(client, state.names, (first, second)) as telemetry:
        assert (telemetry.hosts, telemetry.sizes["right"].processors) == ({second: "right"}, os.cpu_count())
        before = telemetry.look()
        two_sites.succeed("shell", second, "--", "python3", "-c", "for _ in range(10**7): pass")
        two_sites.succeed("shell", first, "--", "true")
        after = telemetry.look()
    used_s = {part: (after[part].host_cpu_s or 0.0) - (before[part].host_cpu_s or 0.0) for part in after}
    assert used_s["host:right"] == pytest.approx(used_s["host"], rel=0.2)
    assert used_s[second] > 2 * used_s[first]
    assert after[second].received_bytes is not None
    assert telemetry.missing == ()


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
