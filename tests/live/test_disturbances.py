"""Disturbances of a standing `mini` while jobs run: each is held against the job that it met, by name, and no other.

Needs Docker. The bench `tests.bench.disturbances` provokes more kinds and strengths.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import psutil

from emulator.campaigns import standing_testbed as testbeds
from emulator.campaigns.extension import measure
from emulator.campaigns.matrix import Matrix
from emulator.campaigns.run_directory import read_rows, read_run
from emulator.containers import engine
from emulator.containers.evidence.lookout import looking_out
from emulator.containers.state import standing
from emulator.model.clock import Dilation
from emulator.model.evidence import EvidenceRow, LinkFaultRow
from tests.live.command_line import CommandLine
from tests.live.disturbances import DISTURBANCES, Disturber, Scene

PROVOKED = (
    "busy loops: two on every core",
    "link's delay: four times as long",
    "link's rate: half",
    "link's loss: 5%",
    "cluster's CPU quota: a two-hundredth of a core",
    "memory hog: more than its container may have",
    "slow disk: four writers that sync",
)
MATRIX = Matrix(
    applications=("poisson",), grids=(1000,), processors=(16,), clusters=(2,), repeat=2 * len(PROVOKED) + 1,
    iterations=40, dilation=8,
)  # fmt: skip


def test_each_disturbance_is_held_against_the_job_that_it_met(standing_testbed: CommandLine, tmp_path: Path):
    """Jobs take turns: an undisturbed one, a disturbed one, ...; links are put back before a job ends."""
    by_name = {it.shown: it for it in DISTURBANCES}
    plan = [None, *(it for name in PROVOKED for it in (by_name[name], None))]
    disturber = Disturber(Scene.of(standing_testbed.name, Dilation(MATRIX.dilation), tmp_path), plan)
    with testbeds.testbed_named(standing_testbed.name) as testbed:
        measure(testbed, MATRIX, tmp_path / "run", disturber.tell)
    disturber.finish()
    jobs = read_run(tmp_path / "run").jobs
    unnoticed = [
        f"{it.shown}: {job.verdict} ({job.verdict_reasons})"
        for it, job in zip(plan, jobs, strict=True)
        if it is not None and (job.verdict == "valid" or not it.is_named_in([job.verdict_reasons]))
    ]
    assert unnoticed == []
    changed = [job.job for job in jobs if "programmed anew" in job.verdict_reasons]
    assert changed == [job.job for it, job in zip(plan, jobs, strict=True) if it is not None and "link" in it.kind]
    assert read_rows(tmp_path / "run", LinkFaultRow)
    manifest = read_run(tmp_path / "run").manifest
    assert manifest.verdict != "valid"
    assert manifest.evidence is not None
    assert manifest.evidence.looks > 10


def test_the_evidence_of_a_run_is_of_the_host_and_of_every_part(standing_testbed: CommandLine, tmp_path: Path):
    out = tmp_path / "run"
    asked = ("--grid", "400", "--processors", "8", "--clusters", "2", "--iterations", "40", "--repeat", "1")
    standing_testbed.succeed("measure", *asked, "--dilation", "8", "--even-if-hopeless", "--out", str(out))
    rows = read_rows(out, EvidenceRow)
    assert {row.part for row in rows} == {"host", "amsterdam", "delft", "leiden", "utrecht", "wan", "broker"}
    found = read_run(out).manifest.evidence
    assert found is not None
    assert not any("queues" in phrase or "containers" in phrase for phrase in found.missing)
    assert found.testbed_cpu_share is not None
    assert 0 < found.testbed_cpu_share < 1
    assert sum(row.segments or 0 for row in rows if row.part == "delft") > 80


def test_a_lookout_sees_every_link_and_leaves_nothing_behind(standing_testbed: CommandLine):
    state = standing(standing_testbed.name)
    client = engine.connect()
    with looking_out(client, state.names, tuple(state.topology.cluster_names)) as lookout:
        for _ in range(3):
            assert len(lookout.links()) == 4 * 2 + 4 * 3
    host_deadline_s = time.monotonic() + 10
    containers = [client.containers.get(name) for name in (*map(state.names.cluster, state.topology.cluster_names),
                                                           state.names.router)]  # fmt: skip
    while running := [row[-1] for it in containers for row in it.top()["Processes"] if "tc monitor" in row[-1]]:
        assert time.monotonic() < host_deadline_s, running
        time.sleep(0.2)


def test_jobs_that_arrive_late_are_named(standing_testbed: CommandLine, tmp_path: Path):
    """The load generator stands still for a while, as it does on a host that is too busy for it."""

    decisions = tmp_path / "run" / "decisions.jsonl"

    def has_submitted() -> bool:
        return decisions.is_file() and '"submitted"' in decisions.read_text()

    def stop_for_a_while() -> None:
        host_deadline_s = time.monotonic() + 120
        while time.monotonic() < host_deadline_s:
            for child in psutil.Process().children(recursive=True):
                if "locust" in " ".join(child.cmdline()) and has_submitted():
                    os.kill(child.pid, signal.SIGSTOP)
                    time.sleep(20)
                    os.kill(child.pid, signal.SIGCONT)
                    return
            time.sleep(0.2)

    stopping = threading.Thread(target=stop_for_a_while)
    stopping.start()
    standing_testbed.succeed(
        "campaign",
        "run",
        "first",
        "--jobs",
        "6",
        "--seed",
        "1",
        "--dilation",
        "2",
        "--even-if-hopeless",
        "--out",
        str(tmp_path / "run"),
    )
    stopping.join()
    late = [job for job in read_run(tmp_path / "run").jobs if "submitted late by" in job.verdict_reasons]
    assert late
    assert all(job.verdict != "valid" for job in late)
