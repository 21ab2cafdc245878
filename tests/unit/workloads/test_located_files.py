"""Files that a campaign states: they are beside its own file, and a log of local jobs is known by its digest."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.project import TOPOLOGIES
from workloads.campaign import campaign_named, recorded_campaign
from workloads.local_jobs import digest_of_log, local_jobs

MINI = topology_named("mini")


def log(path: Path, length_s: int = 60) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"1 0 -1 {length_s} 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n")
    return path


def campaign(path: Path, topology: str = "mini", more: str = "") -> Path:
    """Write a campaign with a log of local jobs, called log.swf."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"name: mine\ntopology: {topology}\njobs: 2\ninterarrival: {{mean_s: 1}}\napplication: poisson\n"
        f"component_counts: [1]\ncomponent_sizes: [4]\nbackground: {{band: [0.15, 0.2], local_jobs: log.swf{more}}}\n"
    )
    return path


def lengths_s(found) -> list[float]:
    return [job.length_s for job in local_jobs(found.background, MINI, seed=1)]


@pytest.mark.parametrize("stated", ["own.yaml", "./own.yaml"])
def test_they_are_found_beside_it_from_any_folder(tmp_path, monkeypatch, stated):
    campaign(tmp_path / "mine" / "campaign.yaml", topology=stated)
    log(tmp_path / "mine" / "log.swf")
    (tmp_path / "mine" / "own.yaml").write_text((TOPOLOGIES / "mini.yaml").read_text())
    for folder, typed in ((tmp_path, "mine/campaign.yaml"), (tmp_path / "mine", "campaign.yaml")):
        monkeypatch.chdir(folder)
        found = campaign_named(typed)
        assert topology_named(found.topology) == MINI
        assert lengths_s(found) == [60]


def test_they_are_found_in_the_working_directory_if_they_are_only_there(tmp_path, monkeypatch):
    campaign(tmp_path / "mine" / "campaign.yaml")
    log(tmp_path / "log.swf", 70)
    monkeypatch.chdir(tmp_path)
    assert lengths_s(campaign_named("mine/campaign.yaml")) == [70]
    log(tmp_path / "mine" / "log.swf", 80)
    assert lengths_s(campaign_named("mine/campaign.yaml")) == [80]


def test_a_campaign_whose_log_is_missing_can_be_read_and_says_where_it_should_be(tmp_path, monkeypatch):
    campaign(tmp_path / "mine" / "campaign.yaml")
    monkeypatch.chdir(tmp_path)
    found = campaign_named("mine/campaign.yaml")
    assert found.under_band("none").background is None
    with pytest.raises(InvalidInput, match=r"^mine/log\.swf: cannot be read"):
        local_jobs(found.background, MINI, seed=1)


def test_a_campaign_takes_no_other_log_than_the_one_it_was_read_with(tmp_path):
    path = log(tmp_path / "log.swf")
    found = campaign_named(str(campaign(tmp_path / "campaign.yaml")))
    recorded = recorded_campaign(found.under_band("30-40").changed(time_scale=2).model_dump(mode="json"), source="here")
    assert recorded.background.log_digest == digest_of_log(path)
    log(path, 90)
    for each in (found.background, recorded.scaled_background):
        with pytest.raises(InvalidInput, match=r"log\.swf: is another log of local jobs than the campaign's, whose"):
            local_jobs(each, MINI, seed=1)


def test_a_campaign_file_may_state_the_digest_of_its_log(tmp_path):
    path = log(tmp_path / "log.swf")
    digest = digest_of_log(path)
    file = str(campaign(tmp_path / "campaign.yaml", more=f", log_digest: '{digest}'"))
    assert lengths_s(campaign_named(file)) == [60]
    log(path, 90)
    assert campaign_named(file).background.log_digest == digest
    with pytest.raises(InvalidInput, match="is another log of local jobs"):
        lengths_s(campaign_named(file))


def test_a_digest_without_a_log_is_refused(tmp_path):
    file = campaign(tmp_path / "campaign.yaml", more=", log_digest: '0a'")
    file.write_text(file.read_text().replace("log.swf", "none"))
    with pytest.raises(InvalidInput, match="log_digest: goes with a log"):
        campaign_named(str(file))
