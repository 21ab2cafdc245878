"""`campaign run --like RUN`: what it takes from the run, what may be stated beside it, and what it executes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.campaigns.live import run_campaign
from emulator.model.catalogue import topology_named
from emulator.model.project import PROJECT_ROOT
from emulator.model.records import SCHEDULE_FILE, Manifest, RunKind
from emulator.runs.run_directory import RunDirectory, read_manifest
from workloads.campaign import Campaign, campaign_named
from workloads.custom_sources import carrying_sources
from workloads.schedule import schedule, write_schedule

CAMPAIGN = campaign_named("first").changed(jobs=3, dilation=0.01)
NOT_UP = "testbed: No testbed called 'testbed' is running (bring one up with `testbed up`).\n"


def recorded(path: Path, campaign: Campaign) -> None:
    """Leave what a live run of `campaign` leaves before its first job."""
    manifest = Manifest(
        kind=RunKind.CAMPAIGN, name="first", verdict="void", topology=topology_named("mini"),
        workload=campaign.model_dump(mode="json"), jobs=campaign.jobs, policy=campaign.policy, queue=campaign.queue,
        seed=1, dilation=campaign.dilation, paced_middleware=True, host_began_at="", host={}, versions={},
    )  # fmt: skip
    with RunDirectory(path, manifest):
        write_schedule(schedule(campaign, 1), path / SCHEDULE_FILE)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Give either a campaign to run, or a live run with --like RUN."),
        (("first", "--like", "run"), "CAMPAIGN: a run like another takes this from that run; leave it out."),
        (
            ("--like", "run", "--policy", "cm", "--seed", "0"),
            "--policy, --seed: a run like another takes this from that run; leave them out.",
        ),
        (("--like", "nowhere"), "nowhere: is no run's directory (it has no manifest.json)."),
        (("--like", "run", "--dilation", "fast"), "--dilation: must be a number or 'auto', not 'fast'."),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(call, tmp_path, arguments: tuple[str, ...], said: str) -> None:
    recorded(tmp_path / "run", CAMPAIGN)
    assert call("campaign", "run", *arguments) == (1, "", f"testbed: {said}\n")


def test_sources_that_a_run_holds_are_named_before_they_are_executed(call, tmp_path) -> None:
    shutil.copy(PROJECT_ROOT / "examples" / "policies" / "one_cluster_first.py", tmp_path / "mine.py")
    recorded(tmp_path / "plain", CAMPAIGN)
    recorded(tmp_path / "own", carrying_sources(CAMPAIGN.changed(policy=f"{tmp_path / 'mine.py'}:OneClusterFirst")))
    warned = "own: holds sources of policies (mine.py), which are executed now, with your rights.\n"
    assert call("campaign", "run", "--like", "plain")[2] == NOT_UP
    assert call("campaign", "run", "--like", "own")[2] == warned + NOT_UP


@pytest.mark.usefixtures("submitted_by_a_thread")
def test_a_run_is_run_again_at_its_dilation_or_at_another_one(call, testbed, tmp_path, monkeypatch) -> None:
    @contextmanager
    def named(name: str) -> Iterator[object]:
        yield testbed

    monkeypatch.setattr("emulator.runs.container_testbed.testbed_named", named)
    run_campaign(testbed, CAMPAIGN, seed=4, path=tmp_path / "run", report_progress=lambda progress: None)
    for out, words, dilation in (("alike", (), 0.01), ("slower", ("--dilation", "0.02"), 0.02)):
        code, _, said = call("campaign", "run", "--like", "run", "--require", "void", "--out", out, *words)
        assert code == 0, said
        manifest = read_manifest(tmp_path / out)
        assert (manifest.seed, manifest.dilation, manifest.like) == (4, dilation, "run")
        assert (tmp_path / out / SCHEDULE_FILE).read_bytes() == (tmp_path / "run" / SCHEDULE_FILE).read_bytes()
