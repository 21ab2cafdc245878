"""The published grid campaigns as jobs to simulate: W1 and W2 (communication-aware), W30 and W50 (Close-to-Files)."""

from __future__ import annotations

from collections import Counter

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from workloads.campaign import Campaign, campaign_named
from workloads.campaign_stream import campaign_files, campaign_jobs
from workloads.schedule import schedule

MANY = 6000


def jobs_of(name: str, count: int = MANY) -> list[tuple[int, ...]]:
    campaign = campaign_named(name).changed(jobs=count)
    return [job.request.components for job in campaign_jobs(campaign, topology_named(campaign.topology), seed=1).jobs]


@pytest.mark.parametrize("name", ["W1", "W2"])
def test_the_communication_aware_campaigns_split_their_totals_as_published(name: str) -> None:
    shares = {split: found / MANY for split, found in Counter(jobs_of(name)).items()}
    thirty_six = (1 / 2 * 1 / 2 + 1 / 2 * 1 / 3) / 3
    assert shares == pytest.approx(
        {
            (18, 18): thirty_six,
            (12, 12, 12): thirty_six,
            (9, 9, 9, 9): thirty_six,
            (16, 16, 16, 16): 1 / 2 * 1 / 2 + 1 / 2 * 1 / 3,
            (24, 24, 24): 1 / 12,
            (18, 18, 18, 18): 1 / 12,
        },
        abs=0.02,
    )


@pytest.mark.parametrize(("name", "last_arrival_s"), [("W30", 6500), ("W50", 3900)])
def test_the_close_to_files_campaigns_have_the_published_size_and_length(name: str, last_arrival_s: float) -> None:
    sizes = [sum(components) for components in jobs_of(name)]
    assert sum(sizes) / MANY == pytest.approx(28, rel=0.02)
    assert campaign_named(name).interarrival.mean_s * 200 == pytest.approx(last_arrival_s, rel=0.01)


@pytest.mark.parametrize("replicas", [None, 1, 3])
def test_every_file_has_the_same_number_of_replicas_at_different_sites(replicas: int | None) -> None:
    campaign = campaign_named("W30").changed(jobs=500).replicated(replicas)
    found = campaign_jobs(campaign, topology_named(campaign.topology), seed=1)
    files = [found.files[job.request.file or ""] for job in found.jobs]
    assert {len(file.sites) for file in files} == {replicas or 1}
    assert all(len(set(file.sites)) == len(file.sites) for file in files)
    assert {file.size_bytes for file in files} == {2e9, 4e9, 6e9}


def test_more_replicas_than_clusters_are_refused() -> None:
    campaign = campaign_named("W30").changed(jobs=5).replicated(20)
    with pytest.raises(InvalidInput, match=r"20 replicas .* 'das2-2006' has 5 \(--replicas 5 is the most\)"):
        campaign_files(campaign, topology_named("das2-2006"), 1)


def test_replicas_are_refused_where_jobs_read_no_files() -> None:
    with pytest.raises(InvalidInput, match="--replicas: the jobs of campaign 'w1' read no files"):
        campaign_named("W1").replicated(3)


def test_w2_is_w1_with_jobs_twice_as_often() -> None:
    w1, w2 = campaign_named("W1"), campaign_named("W2")
    arrivals_s = [arrival.arrival_s for arrival in schedule(w1.spaced(0.5), seed=3)]
    assert w1.spaced(0.5).interarrival == w2.interarrival
    assert arrivals_s == [arrival.arrival_s for arrival in schedule(w2, seed=3)]
    assert w1.spaced(None) is w1


@pytest.mark.parametrize("factor", [0.0, -1.0, float("inf"), float("nan")])
def test_an_interarrival_factor_that_cannot_be_is_refused(factor: float) -> None:
    with pytest.raises(InvalidInput, match="--interarrival-factor: must be positive and finite, not "):
        campaign_named("W1").spaced(factor)


def test_a_time_scale_divides_execution_times_arrivals_and_files_alike() -> None:
    campaign = campaign_named("W30").changed(jobs=50)
    topology = topology_named(campaign.topology)
    whole, scaled = (campaign_jobs(campaign.changed(time_scale=scale), topology, seed=1) for scale in (1, 50))
    for before, after in zip(whole.jobs, scaled.jobs, strict=True):
        assert after.service_s == pytest.approx(before.service_s / 50)
        assert after.arrival_s == pytest.approx(before.arrival_s / 50)
        assert after.request == before.request
    for name, file in whole.files.items():
        assert scaled.files[name].sites == file.sites
        assert scaled.files[name].size_bytes == pytest.approx(file.size_bytes / 50)


def test_a_simulated_campaign_is_the_schedule_of_the_live_one() -> None:
    campaign = campaign_named("W1")
    simulated = campaign_jobs(campaign, topology_named(campaign.topology), seed=7).jobs
    live = schedule(campaign, seed=7)
    assert [(job.arrival_s, job.request.components) for job in simulated] == [
        (arrival.arrival_s, arrival.specification.components) for arrival in live
    ]


@pytest.mark.parametrize(
    ("queue", "policy", "used"),
    [
        (None, None, "cm"),
        ("placement", None, "cm"),
        ("ls-do", None, "wf-distinct"),
        ("ls-do", "fcm", "fcm"),
        ("placement-adaptive", None, "wf"),
    ],
)
def test_another_queue_brings_the_policy_that_goes_with_it(queue, policy, used) -> None:
    campaign = campaign_named("first").changed(policy="cm").scheduled(queue, policy)
    assert (campaign.queue, campaign.policy) == (queue or "placement", used)


def test_a_campaign_without_execution_times_cannot_be_simulated() -> None:
    with pytest.raises(InvalidInput, match="service_s"):
        campaign_jobs(campaign_named("first"), topology_named("mini"), seed=0)


def test_choices_and_counts_contradict_each_other() -> None:
    described = campaign_named("W1").model_dump(exclude_unset=True)
    with pytest.raises(ValueError, match="choices"):
        Campaign.model_validate({**described, "component_counts": [1], "component_sizes": [8]})


def test_a_split_must_make_its_total() -> None:
    described = campaign_named("W1").model_dump(exclude_unset=True)
    described["choices"][0]["splits"][36] = [[18, 17]]
    with pytest.raises(ValueError, match=r"splits.36: \[18, 17\] makes 35 processors"):
        Campaign.model_validate(described)


def test_the_published_campaigns_state_the_background_load_of_their_papers():
    loads = {name: campaign_named(name).background for name in ("W1", "W2", "W30", "W50")}
    assert {name: (load.band, load.scope.value, load.void_after_s) for name, load in loads.items()} == {
        "W1": ((0.15, 0.2), "system", 60),
        "W2": ((0.15, 0.2), "system", 60),
        "W30": ((0.3, 0.4), "cluster", 60),
        "W50": ((0.3, 0.4), "cluster", 60),
    }
    assert campaign_named("first").background is None


def test_a_campaign_has_its_background_load_in_another_band_or_in_none():
    campaign = campaign_named("W50")
    assert campaign.under_band("50-60").background.band == (0.5, 0.6)
    assert campaign.under_band("50-60").background.scope.value == "cluster"
    assert campaign.under_band("none").background is None
    assert campaign_named("first").under_band("10-20").background.band == (0.1, 0.2)
    assert campaign.under_band(None) is campaign


@pytest.mark.parametrize(
    ("band", "said"),
    [("60-50", "band: its upper end must be above"), ("50", "--band: must be two percentages"), ("90-110", "1.1")],
)
def test_a_band_that_is_none_is_refused_in_a_sentence(band, said):
    with pytest.raises(InvalidInput, match=said):
        campaign_named("W50").under_band(band)


@pytest.mark.parametrize(
    ("composition", "scheduled"),
    [
        ("basic", ("normal-alone", "just-first")),
        ("3DBF-Light", ("uniform-light", "backfill")),
        ("uniform-hard+best-fit+fcfs", ("uniform-hard", "best-fit")),
        ("normal", ("normal", "just-first")),
    ],
)
def test_a_composition_named_as_policy_says_the_queue_too(composition, scheduled):
    chosen = campaign_named("SIT").scheduled(None, composition)
    assert (chosen.policy, chosen.queue) == scheduled


@pytest.mark.parametrize(
    ("queue", "composition", "said"),
    [
        ("fcfs", "3dbf-light", "the composition '3dbf-light' has one of its own; leave out 'fcfs'"),
        (None, "normal+best-fit+sjf", "live jobs start in the order fcfs, not sjf"),
    ],
)
def test_a_composition_that_cannot_run_live_is_refused(queue, composition, said):
    with pytest.raises(InvalidInput, match=said):
        campaign_named("SIT").scheduled(queue, composition)
