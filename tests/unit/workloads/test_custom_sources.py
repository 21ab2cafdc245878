"""What of a researcher's files goes with a campaign: the text as it is when the campaign is begun, and no folder."""

from __future__ import annotations

import pytest

from emulator.model.errors import InvalidInput
from emulator.model.scheduling import LARGEST_SOURCE_BYTES
from workloads.campaign import campaign_named
from workloads.custom_sources import carrying_sources

FIRST = campaign_named("first")


def test_policy_and_queue_of_one_file_carry_it_once(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("# both")
    carrying = carrying_sources(FIRST.scheduled(f"{file}:Queue", f"{file}:Policy"))
    assert (carrying.policy, carrying.queue) == ("mine.py:Policy", "mine.py:Queue")
    assert carrying.sources == {"mine.py": "# both"}


def test_a_campaign_under_what_comes_with_the_testbed_carries_nothing():
    assert carrying_sources(FIRST) == FIRST


def test_with_a_queue_of_ones_own_goes_the_campaigns_policy(tmp_path):
    assert FIRST.scheduled(f"{tmp_path}/mine.py:Queue", None).policy == FIRST.policy
    assert FIRST.scheduled("gs", None).policy == "wf-distinct"


def test_what_cannot_be_carried_is_said(tmp_path):
    file = tmp_path / "mine.py"
    with pytest.raises(InvalidInput, match="no policy file"):
        carrying_sources(FIRST.changed(policy=f"{file}:Mine"))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="UTF-8"):
        carrying_sources(FIRST.changed(policy=f"{file}:Mine"))
    file.write_text("#" * (LARGEST_SOURCE_BYTES + 1))
    with pytest.raises(InvalidInput, match="65536 bytes at most"):
        carrying_sources(FIRST.changed(policy=f"{file}:Mine"))
    file.write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.py").write_text("")
    with pytest.raises(InvalidInput, match="have the same name"):
        carrying_sources(FIRST.changed(policy=f"{file}:Mine", queue=f"{tmp_path}/other/mine.py:Mine"))


def test_a_campaign_file_brings_no_program_along(tmp_path):
    file = tmp_path / "theirs.yaml"
    file.write_text(
        "{name: theirs, topology: mini, jobs: 1, interarrival: {mean_s: 1}, application: poisson, "
        "component_counts: [1], component_sizes: [4], policy: 'x.py:Mine', sources: {x.py: 'print(1)'}}"
    )
    with pytest.raises(InvalidInput, match="a campaign file holds no source"):
        campaign_named(str(file))
