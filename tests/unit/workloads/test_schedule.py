"""A schedule is seeded, sorted, made of what the campaign allows, and each of its quantities has its own randomness."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.model.catalogue import equal_clusters
from emulator.model.errors import InvalidInput, UnknownName
from workloads.campaign import Campaign, campaign_named, recorded_campaign, shipped_campaigns
from workloads.distributions import Exponential, stream
from workloads.schedule import file_name, home_queues, is_file_of, read_schedule, schedule, write_schedule

FIRST = campaign_named("first")
SEEDS = st.integers(min_value=0, max_value=2**32)


def test_the_shipped_campaign_first_is_as_published_here() -> None:
    assert FIRST.topology == "mini"
    assert FIRST.component_counts == (1, 2, 4)
    assert FIRST.component_sizes == (4, 8)
    assert shipped_campaigns()["first"] == FIRST


@given(seed=SEEDS, jobs=st.integers(1, 60))
@settings(max_examples=50)
def test_arrivals_are_sorted_and_jobs_are_of_the_allowed_shapes(seed: int, jobs: int) -> None:
    arrivals = schedule(FIRST.changed(jobs=jobs), seed)
    timestamps_s = [arrival.arrival_s for arrival in arrivals]
    assert len(arrivals) == jobs
    assert timestamps_s == sorted(timestamps_s)
    assert timestamps_s[0] > 0
    for arrival in arrivals:
        components = arrival.specification.components
        assert len(components) in FIRST.component_counts
        assert set(components) <= set(FIRST.component_sizes)
        assert len(set(components)) == 1


@given(seed=SEEDS)
@settings(max_examples=20)
def test_the_same_seed_gives_the_same_schedule_and_fewer_jobs_are_its_beginning(seed: int) -> None:
    assert schedule(FIRST, seed) == schedule(FIRST, seed)
    assert schedule(FIRST.changed(jobs=7), seed) == schedule(FIRST, seed)[:7]


def test_jobs_are_submitted_to_clusters_whose_quota_can_hold_them() -> None:
    campaign = FIRST.changed(component_counts=(1,), component_sizes=(12,))
    arrivals, topology = schedule(campaign, 1), equal_clusters("64,16")
    assert set(home_queues(campaign, arrivals, topology, 1)) == {0, 1}
    assert set(home_queues(campaign.changed(quota=0.5), arrivals, topology, 1)) == {0}


@given(seed=SEEDS)
@settings(max_examples=20)
def test_changing_one_quantity_leaves_the_others(seed: int) -> None:
    changed = schedule(FIRST.changed(interarrival=Exponential(mean_s=16)), seed)
    for before, after in zip(schedule(FIRST, seed), changed, strict=True):
        assert after.arrival_s == pytest.approx(2 * before.arrival_s)
        assert after.specification == before.specification
    resized = schedule(FIRST.changed(component_sizes=(2, 6)), seed)
    for before, after in zip(schedule(FIRST, seed), resized, strict=True):
        assert after.arrival_s == before.arrival_s
        assert len(after.specification.components) == len(before.specification.components)


def test_different_seeds_give_different_schedules() -> None:
    assert schedule(FIRST, 1) != schedule(FIRST, 2)


def test_interarrival_times_have_the_mean_asked_for() -> None:
    gaps_s = Exponential(mean_s=8).draw_s(20_000, stream(3, "interarrival"))
    assert sum(gaps_s) / len(gaps_s) == pytest.approx(8, rel=0.03)
    assert sum(1 for gap_s in gaps_s if gap_s > 8) / len(gaps_s) == pytest.approx(0.3679, abs=0.01)


def test_every_shape_is_equally_likely() -> None:
    arrivals = schedule(FIRST.changed(jobs=6_000), 5)
    for count in FIRST.component_counts:
        share = sum(1 for arrival in arrivals if len(arrival.specification.components) == count) / len(arrivals)
        assert share == pytest.approx(1 / 3, abs=0.02)


def test_a_written_schedule_reads_back_equal(tmp_path: Path) -> None:
    arrivals = schedule(FIRST, 9)
    write_schedule(arrivals, tmp_path / "schedule.jsonl")
    assert read_schedule(tmp_path / "schedule.jsonl") == arrivals


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b'{"arrival_s": 1', "line 2: is no JSON object"),
        (b'{"arrival_s": -1}', "line 2: arrival_s"),
        (b"\xff", "is not text"),
    ],
)
def test_a_damaged_schedule_is_refused_in_a_sentence(tmp_path: Path, line: bytes, sentence: str) -> None:
    file = tmp_path / "schedule.jsonl"
    write_schedule(schedule(FIRST, 9)[:1], file)
    file.write_bytes(file.read_bytes() + line + b"\n")
    with pytest.raises(InvalidInput, match=sentence):
        read_schedule(file)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: x\ntopologie: mini\n", "topologie"),
        ("jobs: -3", "jobs: must be greater than 0, not -3."),
        ("interarrival: {distribution: exponential, mean_s: -8}", "interarrival.mean_s"),
        ("component_sizes: []", "component_sizes"),
        ("component_counts: [1, 0]", "component_counts.1"),
    ],
)
def test_a_malformed_campaign_is_refused_in_one_sentence_naming_file_and_key(
    tmp_path: Path, text: str, expected: str
) -> None:
    key = text.split(":")[0]
    whole = {
        "name": "name: own",
        "topology": "topology: mini",
        "jobs": "jobs: 3",
        "interarrival": "interarrival: {mean_s: 8}",
        "application": "application: poisson",
        "component_counts": "component_counts: [1]",
        "component_sizes": "component_sizes: [4]",
    }
    whole[key] = text
    file = tmp_path / "own.yaml"
    file.write_text("\n".join(whole.values()))
    with pytest.raises(InvalidInput) as raised:
        campaign_named(str(file))
    assert str(raised.value).startswith(str(file))
    assert expected in str(raised.value)


def test_an_unknown_campaign_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"no campaign 'second'.*first"):
        campaign_named("second")


def test_a_change_out_of_range_is_refused() -> None:
    with pytest.raises(InvalidInput, match="campaign 'first': jobs"):
        FIRST.changed(jobs=0)
    with pytest.raises(InvalidInput, match="dilation"):
        FIRST.changed(dilation=-1.0)


def test_a_campaign_is_unchanged_by_nothing() -> None:
    assert FIRST.changed(jobs=None, policy=None) == FIRST
    assert isinstance(FIRST.changed(jobs=2), Campaign)


OWN = {
    "name": "own", "topology": "mini", "jobs": 3, "interarrival": {"distribution": "exponential", "mean_s": 5},
    "component_counts": [2], "component_sizes": [4],
}  # fmt: skip


def test_the_jobs_of_a_campaign_with_a_command_run_it_in_place_of_an_application() -> None:
    campaign = Campaign.model_validate({**OWN, "command": ["heat", "800"]})
    assert recorded_campaign(campaign.model_dump(mode="json"), source="manifest").command == ("heat", "800")
    jobs = [arrival.specification for arrival in schedule(campaign, 1)]
    assert [(job.command, job.application, job.arguments) for job in jobs] == [(("heat", "800"), "own", {})] * 3


@pytest.mark.parametrize("beside", [{"application": "poisson"}, {"arguments": {"grid": 100}}])
def test_a_campaign_has_a_command_or_an_application_not_both(beside: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="command: stands in place of application, arguments and choices"):
        Campaign.model_validate({**OWN, "command": ["heat"], **beside})
    with pytest.raises(ValueError, match="application: this key is missing"):
        Campaign.model_validate(OWN)


def test_a_campaigns_file_is_known_by_its_name_and_that_of_another_campaign_is_not() -> None:
    assert all(is_file_of(file_name(FIRST, number), "first") for number in (1, 25, 10_000))
    assert is_file_of("a-file-1-file-2", "a-file-1")
    assert not any(is_file_of(name, "a") for name in ("a-file-1-file-2", "b-file-1", "a-file-", "a-file-x", "a", ""))
