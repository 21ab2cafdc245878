"""Files of a campaign exist while their jobs need them, and the plan counts the most of them at once."""

from __future__ import annotations

import pytest

from emulator.campaigns.live import arrivals_on
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.errors import Hopeless
from emulator.planning.plan import Resources, plan
from emulator.planning.planned_files import PlannedFile, peak_bytes
from emulator.planning.planned_runs import check_possible, planned_campaign
from emulator.runs.input_files import HOST_LEAD_S
from workloads.campaign import campaign_named

GB = 10**9


def test_no_file_takes_no_disk() -> None:
    assert peak_bytes([], 60) == 0


def test_files_that_do_not_meet_are_not_added_up() -> None:
    files = [PlannedFile(100 * number, 100 * number, 100 * number + 30, 5) for number in range(1, 4)]
    assert peak_bytes(files, 60) == 5
    assert peak_bytes(files, 71) == 10


def test_copies_are_brought_when_the_job_is_placed() -> None:
    waits = PlannedFile(arrival_s=10, placed_s=50, finish_s=90, kept_bytes=4, brought_bytes=8)
    assert peak_bytes([waits, PlannedFile(20, 20, 45, 4)], 5) == 12
    assert peak_bytes([waits, PlannedFile(20, 20, 55, 4)], 5) == 16


def w30(replicas: int):
    campaign = campaign_named("W30").changed(jobs=100).replicated(replicas).under_band("none")
    topology = topology_named("das2")
    return planned_campaign(campaign, arrivals_on(topology, campaign, 1), 1, topology).run


def test_w30_needs_room_for_the_jobs_at_hand_and_not_for_all_of_them() -> None:
    run = w30(replicas=1)
    kept = sum(file.kept_bytes for file in run.files)
    everything = kept + sum(file.brought_bytes for file in run.files)
    assert kept == pytest.approx(400 * GB, rel=0.1)
    assert peak_bytes(run.files, HOST_LEAD_S) < 0.3 * everything
    assert plan(run, Dilation(1), Resources(2, 10**12, 10**13)).disk_bytes > peak_bytes(run.files, HOST_LEAD_S)


def test_a_campaign_whose_files_cannot_fit_is_refused_with_what_is_missing() -> None:
    run = w30(replicas=3)
    with pytest.raises(Hopeless, match=r"it needs .* times the disk that is available"):
        check_possible(run, Resources(2, 10**12, 20 * GB))
    check_possible(run, Resources(2, 10**12, 10**13))
