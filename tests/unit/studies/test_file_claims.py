"""Claims on Close-to-Files, decided by records of W30 and W50."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from emulator.model.records import JobRow
from emulator.runs.timelines import BackgroundUse, Timelines, read_timelines
from emulator.studies.campaign_runs import CampaignRun, of_case
from emulator.studies.claims import ClaimOutcome
from tests.unit.reports.simulated_runs import simulated_run
from tests.unit.studies.changed_runs import like, parts, waits

SHOWN, NOT_SHOWN, UNDECIDED = ClaimOutcome.SHOWN, ClaimOutcome.NOT_SHOWN, ClaimOutcome.UNDECIDED
FILES = {"input_files": {"sizes_bytes": [2e9], "replicas": [3]}}


@pytest.fixture(scope="module")
def w50(tmp_path_factory: pytest.TempPathFactory) -> Timelines:
    folder = tmp_path_factory.mktemp("w50") / "cf"
    return read_timelines(simulated_run(folder, "W50", policy="cf", jobs=60, workload=FILES))


def test_files_tell_their_cases_apart_by_replicas(w50):
    runs = [CampaignRun.of(w50), CampaignRun.of(like(w50, workload={"input_files": {"replicas": [1, 3]}}))]
    assert [run.replicas for run in runs] == [3, None]
    assert of_case(runs, "w50", "cf", 3) == runs[:1]
    assert of_case(runs, "w50", "cf") == runs


def test_a_heavy_background_is_told_by_its_band(w50):
    at_half = like(w50, workload={**FILES, "background": {"band": [0.45, 0.55]}})
    found = parts([at_half], "C40")
    assert "W50, cf, background 60%: no run of it is given" in found
    assert any(says.startswith("W50, cf, 3 replicas, background 50%, jobs waiting") for says in found)


@pytest.mark.parametrize("band", [[0.5, 0.6], [0.45, 0.65], [0.51, 0.59]])
def test_a_band_that_stands_for_no_heavy_background_decides_neither_half(w50, band):
    between = like(w50, workload={**FILES, "background": {"band": band}}, jobs=waits(3))
    found = parts([between], "C40")
    assert [says.split(":")[0] for says in found] == ["W50, cf, background 50%", "W50, cf, background 60%"]
    assert all(f"{band[0]:.0%} to {band[1]:.0%}, stands for neither 50% nor 60%" in says for says in found)
    assert {decided.verdict for decided in found.values()} == {UNDECIDED}
    at_half = like(w50, workload={**FILES, "background": {"band": [0.45, 0.55]}})
    assert any("background 50%, jobs waiting" in says for says in parts([between, at_half], "C40"))


def test_a_heavy_background_is_a_case_of_its_own(w50):
    usual = like(w50, workload={**FILES, "background": {"band": [0.3, 0.4]}})
    heavy = like(w50, workload={**FILES, "background": {"band": [0.5, 0.55]}}, jobs=waits(3))
    assert parts([usual, heavy], "C39") == parts([usual], "C39")
    assert parts([usual, heavy], "C40") == parts([heavy], "C40")


def test_total_utilization_needs_a_background_load(w50):
    (open_part,) = (
        decision for says, decision in parts([w50], "C39").items() if says.startswith("W50, cf, 3 replicas, total")
    )
    assert "the runs had no background load (" in open_part.says
    assert open_part.verdict is UNDECIDED
    loaded = replace(w50, background=[BackgroundUse(0.0, "amsterdam", {"dummy": 40, "local": 0})])
    says = "W50, cf, 3 replicas, total utilization, 67% to 84%"
    decided = parts([loaded], "C39")[says]
    assert decided.value == pytest.approx(_total(w50) + 40 / sum(w50.sizes.values()))


def _total(run: Timelines) -> float:
    shares = CampaignRun.of(run).shares
    return sum(shares["coallocation"] + shares["pwt"]) / 10


def test_queues_are_counted_and_saturation_is_what_waits_at_the_end(w50):
    run = CampaignRun.of(w50)
    found = parts([w50, like(w50, seed=9)], "C39")
    assert found["W50, cf, 3 replicas, mean longest queue, above 10 and below 40"].value == run.longest_queue
    decision = found["W50, cf, 3 replicas, jobs waiting at the end of the arrivals, more than 10"]
    assert (decision.value, decision.low) == pytest.approx((run.waiting_at_last_arrival, run.waiting_at_last_arrival))
    assert decision.verdict is (SHOWN if run.waiting_at_last_arrival > 10 else NOT_SHOWN)


def test_queues_of_several_runs_are_means_with_intervals_and_one_run_decides_nothing(w50):
    idle = like(w50, seed=9, jobs=lambda job: {"placed_s": job.submitted_s})
    longest = "W50, cf, 3 replicas, mean longest queue, above 10 and below 40"
    left = "W50, cf, 3 replicas, jobs waiting at the end of the arrivals, more than 10"
    alone, both = parts([w50], "C39"), parts([w50, idle], "C39")
    assert {alone[says].verdict for says in (longest, left)} == {UNDECIDED}
    busy, empty = CampaignRun.of(w50), CampaignRun.of(idle)
    assert busy.longest_queue > empty.longest_queue
    assert both[longest].value == pytest.approx((busy.longest_queue + empty.longest_queue) / 2)
    assert both[longest].low is not None
    assert both[longest].low < empty.longest_queue


def test_transfers_are_compared_between_policies_and_replicas(w50):
    def transfers(seconds: float) -> Any:
        return lambda job: {"estimated_transfer_s": seconds * (1 + job.job % 5)}

    w30 = [
        like(
            w50, name="w30", policy=policy, workload={"input_files": {"replicas": [replicas]}}, jobs=transfers(seconds)
        )
        for policy, replicas, seconds in (("cf", 1, 4.0), ("cf", 3, 2.0), ("wf", 1, 8.0), ("wf", 3, 1.0))
    ]
    found = parts(w30, "C36")
    assert {says: decision.verdict for says, decision in found.items()} == {
        "W30, FTT: cf with 1 < wf with 1": SHOWN,
        "W30, FTT: cf with 3 < wf with 3": NOT_SHOWN,
        "W30, FTT: cf with 3 < cf with 1": SHOWN,
        "W30, FTT: cf with 3 < wf with 1": SHOWN,
    }


def test_waits_and_tries_are_compared_between_numbers_and_sizes_of_components(w50):
    def grown(job: JobRow) -> dict[str, float]:
        return {"wait_time_s": len(job.components) * (50.0 + job.job % 7)}

    found = parts([like(w50, name="w30", jobs=grown)], "C37")
    assert found["W30, cf, 3 replicas, wait time: 2 components over 1, above 1"].verdict is SHOWN
    assert any(says.startswith("W30, cf, 3 replicas, placement tries: 16 processors in each over 8") for says in found)
    assert "W30, wf, wait time by components: no run of it is given" in found


@pytest.mark.parametrize(
    ("claim", "name", "band", "says"),
    [
        ("C37", "w30", [0.3, 0.4], "W30, cf, {}, wait time: 2 components over 1, above 1"),
        ("C40", "w50", [0.45, 0.55], "W50, cf, {}, background 50%, mean claiming tries, below 2"),
    ],
)
def test_runs_with_other_numbers_of_replicas_are_never_put_together(w50, claim, name, band, says):
    def of(replicas: int) -> Timelines:
        """Only without replication jobs of several components wait longer, and claims take several tries."""
        times = 1 if replicas == 1 else 0
        stated = {"input_files": {"replicas": [replicas]}, "background": {"band": band}}
        return like(w50, name=name, workload=stated, jobs=lambda job: {
            "wait_time_s": (50.0 + job.job % 7) * len(job.components) ** times, "claiming_tries": 1 + times,
        })  # fmt: skip

    one, three = of(1), of(3)
    together = parts([one, three], claim)
    for case, run in (("1 replica", one), ("3 replicas", three)):
        assert together[says.format(case)] == parts([run], claim)[says.format(case)]
    assert together[says.format("1 replica")].value > together[says.format("3 replicas")].value


def test_a_ratio_of_gained_and_wasted_time_is_asked_where_claims_succeed_at_once(w50):
    found = parts([like(w50, name="w30")], "C38")
    assert found["W30, cf, 3 replicas, mean claiming tries, below 2"].verdict is SHOWN
    assert found["W30, cf, 3 replicas, PGT over PWT, 3 within 10%"].verdict is NOT_SHOWN


@pytest.mark.parametrize(("gained_by_more_s", "verdict"), [(20.0, SHOWN), (0.0, UNDECIDED)])
def test_more_claiming_tries_turn_wasted_into_gained_time_of_jobs_with_a_transfer(w50, gained_by_more_s, verdict):
    """Without a transfer processors are claimed at once: simulated jobs then gain no time, and live ones hardly any."""

    def claimed(job: JobRow) -> dict[str, float]:
        again, travels = job.job % 2, job.job % 10 > 0
        gained_s = 30.0 + gained_by_more_s * again + job.job % 3 if travels else 0.0
        return {
            "claiming_tries": 1 + again, "estimated_transfer_s": 40.0 * travels, "processor_gained_time_s": gained_s,
            "processor_wasted_time_s": 10.0,
        }  # fmt: skip

    at_half = like(w50, workload={**FILES, "background": {"band": [0.45, 0.55]}}, jobs=claimed)
    (moved,) = (decision for says, decision in parts([at_half], "C40").items() if "PGT over PGT and PWT" in says)
    assert moved.value is not None
    assert moved.verdict is verdict
