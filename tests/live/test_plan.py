"""The planner on this host: it measures costs in real containers, and a real run records its prediction.

Measuring a host takes eight minutes, so only a long test does it whole. Another one runs two short jobs instead; tests
of measurements plan with costs that were written down beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.model.clock import Dilation
from emulator.planning import host_probe
from emulator.planning.host_probe import PROBE_NAME, SMALLER_DILATION, ProbeJob, probe_host
from emulator.runs import container_testbed as containers
from emulator.runs.run_directory import read_run
from tests.live.command_line import CommandLine

ASKED = ("--grid", "400", "--processors", "8", "--clusters", "1,2", "--iterations", "30")
TRIALS = (
    ProbeJob("poisson", 200, 4, 20, paced=True),
    ProbeJob("poisson", 200, 4, 20, clusters=2, paced=True, dilation=SMALLER_DILATION, rounds=2),
)


def test_jobs_of_the_probe_are_run_looked_at_and_measured(two_sites: CommandLine, monkeypatch: pytest.MonkeyPatch):
    """On a testbed that runs already, and two jobs instead of forty."""

    @contextmanager
    def running(tell: object) -> Iterator[object]:
        with containers.testbed_named(two_sites.name) as held:
            yield held

    monkeypatch.setattr(host_probe, "_standing", running)
    monkeypatch.setattr(host_probe, "TRIALS", TRIALS)
    probe = probe_host(lambda progress: None)
    assert {trial: len(jobs) for trial, jobs in probe.jobs.items()} == {trial: trial.rounds for trial in TRIALS}
    assert all(job.result and job.result["host_cpu_s"] > 0 for jobs in probe.jobs.values() for job in jobs)
    assert {trial: len(looks) for trial, looks in probe.router.items()} == {trial: trial.rounds for trial in TRIALS}
    assert probe.idle_bytes > probe.cluster_idle_bytes > 0
    assert probe.record_bytes > 0
    with containers.testbed_named(two_sites.name) as held:
        held.wide_area.program(Dilation(1.0))


@pytest.mark.long
@pytest.mark.timed
def test_the_host_is_measured_once_whole_and_nothing_of_the_probe_stays(two_sites: CommandLine, tmp_path: Path):
    """The measured costs then predict the duration of a run."""
    first, second = (two_sites.succeed("plan", "--json").as_json()[0] for _ in range(2))
    assert first["host_measured_at"] == second["host_measured_at"]
    assert first["faithful"]
    assert first["host_cpu_s"] > 0
    assert CommandLine(PROBE_NAME).left_over() == []
    two_sites.succeed("measure", *ASKED, "--repeat", "1", "--out", str(tmp_path / "run"))
    manifest = read_run(tmp_path / "run").manifest
    assert manifest.verdict != "void"
    total = manifest.plan["outcomes"][-1]
    assert 0.2 < total["predicted_host_cpu_s"] / total["host_cpu_s"] < 5
    hopeless = ("--grid", "60", "--processors", "16", "--clusters", "2", "--dilation", "0.001")
    assert "is hopeless on this host" in two_sites("measure", *hopeless, "--out", str(tmp_path / "no")).sentence
