"""Claims on campaigns, decided by records: what shows, what does not, and what stays open and why."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from emulator.fidelity.intervals import paired_ratio_of_means, ratio_of_means
from emulator.model.cell_rows import ExtensionFactorRow
from emulator.model.errors import InvalidInput
from emulator.model.project import PROJECT_ROOT
from emulator.model.records import JobRow, RunKind
from emulator.runs.timelines import Timelines, read_timelines
from emulator.studies.campaign_claims import decided_claims
from emulator.studies.campaign_runs import CampaignRun, mean_of, ratio_of
from emulator.studies.campaign_statements import wait_s
from emulator.studies.claims import ClaimOutcome, Decision
from tests.unit.reports.simulated_runs import simulated_run
from tests.unit.studies.changed_runs import like, parts, waits

SHOWN, NOT_SHOWN, UNDECIDED = ClaimOutcome.SHOWN, ClaimOutcome.NOT_SHOWN, ClaimOutcome.UNDECIDED
SHIPPED = PROJECT_ROOT / "docs/results/campaigns"
SIMULATED = {"times": "stated", "options": {"extension_factors": 1.0}}


@pytest.fixture(scope="module")
def w1(tmp_path_factory: pytest.TempPathFactory) -> Timelines:
    return read_timelines(simulated_run(tmp_path_factory.mktemp("w1") / "wf", jobs=40))


def test_all_claims_on_campaigns_are_decided_in_order(w1):
    assert [decided.claim.id for decided in decided_claims([w1])] == [f"C{number}" for number in range(29, 41)]
    assert {decided.at for decided in decided_claims([w1])} == {"campaign"}


def test_an_order_shows_where_it_is_in_the_records(w1):
    runs = [w1, like(w1, policy="cm", jobs=waits(0.8)), like(w1, policy="fcm", jobs=waits(0.9))]
    found = parts(runs, "C30")
    assert found["W1, response: cm < wf"].verdict is SHOWN
    assert found["W1, response: cm < wf"].value == pytest.approx(0.8)
    assert found["W1, response: fcm < cm"].verdict is NOT_SHOWN
    assert found["W1, wait: fcm < cm"].value == pytest.approx(0.9 / 0.8)


def test_a_part_whose_runs_are_not_given_is_open_and_says_so(w1):
    found = parts([w1], "C30")
    assert {decision.verdict for decision in found.values()} == {UNDECIDED}
    assert {decision.value for decision in found.values()} == {None}
    assert "W1, response: fcm < cm: no run of the first or of the second is given" in found
    assert "W1, response: cm < wf: no run of the first is given" in found


def test_a_void_run_decides_nothing(w1):
    other = like(w1, policy="cm", verdict="void", jobs=waits(0.5))
    assert parts([w1, other], "C30")["W1, response: cm < wf"].verdict is UNDECIDED


def test_runs_of_several_seeds_are_replications_paired_by_seed(w1):
    runs = [like(w1, seed=seed, jobs=waits(seed)) for seed in (1, 2, 3)]
    runs += [like(w1, policy="cm", seed=seed, jobs=waits(0.9 * seed)) for seed in (2, 3, 4)]
    decision = parts(runs, "C30")["W1, wait: cm < wf"]
    assert decision.value == pytest.approx(0.9)
    assert decision.low == pytest.approx(0.9)
    assert decision.verdict is SHOWN


def test_queue_times_are_compared_over_the_seeds_that_both_cases_have(w1):
    def queued(seed: int) -> Any:
        """Queue times are the same under both policies, and long with the seeds that only one of them has."""
        return lambda job: {"queue_time_s": 20.0 if seed in (2, 3) else 90.0, "response_time_s": 100.0}

    runs = [like(w1, seed=seed, jobs=queued(seed)) for seed in (1, 2, 3)]
    runs += [like(w1, policy="cm", seed=seed, jobs=queued(seed)) for seed in (2, 3, 4)]
    decision = parts(runs, "C32")["W1, queue time: cm and wf differ by less than 10% of wf's response time"]
    assert decision.value == pytest.approx(0.0)
    assert decision.verdict is SHOWN


def test_equal_queue_times_are_similar_however_much_seeds_differ(w1):
    """What a seed does to both policies is no difference between them."""

    def queued(seconds: float) -> Any:
        return lambda job: {"queue_time_s": seconds, "response_time_s": 100.0}

    runs = [
        like(w1, policy=policy, seed=seed, jobs=queued(seconds))
        for policy in ("wf", "cm")
        for seed, seconds in ((1, 5.0), (2, 20.0), (3, 90.0))
    ]
    decision = parts(runs, "C32")["W1, queue time: cm and wf differ by less than 10% of wf's response time"]
    assert (decision.value, decision.low, decision.high) == pytest.approx((0.0, 0.0, 0.0))
    assert decision.verdict is SHOWN


def test_queue_times_of_other_seeds_are_compared_as_independent(w1):
    def queued(job: JobRow) -> dict[str, float]:
        return {"queue_time_s": 10.0 + job.job % 5, "response_time_s": 100.0}

    runs = [like(w1, policy=policy, seed=seed, jobs=queued) for policy, seed in (("wf", 1), ("cm", 2))]
    decision = parts(runs, "C32")["W1, queue time: cm and wf differ by less than 10% of wf's response time"]
    assert decision.value == pytest.approx(0.0)
    assert decision.low is not None
    assert decision.low < 0.0


def test_with_one_seed_only_jobs_that_finished_under_both_policies_are_compared(w1):
    longest = max(w1.records.jobs, key=lambda job: job.wait_time_s or 0.0)

    def failing(job: JobRow) -> dict[str, str]:
        return {"state": "failed"} if job.name == longest.name else {}

    found = parts([w1, like(w1, policy="cm", jobs=failing)], "C30")["W1, wait: cm < wf"]
    assert (found.value, found.low, found.high) == pytest.approx((1.0, 1.0, 1.0))
    # Jobs of two campaigns are never the same ones, so all of them count.
    growth = parts([w1, like(w1, name="w2", jobs=lambda job: {"name": f"w2-{job.job}"})], "C31")
    assert growth["wf, execution: W2 > W1"].value == pytest.approx(1.0)


def test_two_runs_of_one_case_and_seed_are_refused(w1):
    with pytest.raises(InvalidInput, match="is a run of the same campaign, policy and seed as"):
        decided_claims([w1, w1])


def test_the_wait_is_dominated_by_what_most_of_it_is(w1):
    def queued(job: JobRow) -> dict[str, float]:
        return {"wait_time_s": 10.0 + job.job % 3, "overhead_s": 8.0, "queue_time_s": 2.0 + job.job % 3}

    found = parts([like(w1, jobs=queued), like(w1, name="w2", jobs=queued)], "C33")
    assert found["W1, wf: overhead over wait, above 0.5"].verdict is SHOWN
    assert found["W2, wf: queue time over wait, above 0.5"].verdict is NOT_SHOWN


def test_overhead_grows_with_components_and_with_contention(w1):
    def grown(job: JobRow) -> dict[str, float]:
        return {"overhead_s": len(job.execution_clusters) * (1.0 + 0.01 * (job.job % 2))}

    found = parts([like(w1, jobs=grown)], "C34")
    growth = [decision for says, decision in found.items() if "components over" in says]
    assert len(growth) >= 2
    assert {decision.verdict for decision in growth} == {SHOWN}


def placed_in_pairs(job: JobRow) -> dict[str, float]:
    """Even jobs start alone, and odd ones while the job before them does, which takes them twice as long."""
    pair, second = divmod(job.job, 4)
    begin_s = 1000.0 * pair + (0.0, 100.0, 500.0, 501.0)[second]
    took_s = 20.0 + 0.1 * pair if second == 3 else 10.0 + 0.1 * pair
    return {"placed_s": begin_s, "started_s": begin_s + took_s, "overhead_s": took_s}


def test_contention_is_between_jobs_that_start_at_the_same_time(w1):
    crowded = [decision for says, decision in parts([like(w1, jobs=placed_in_pairs)], "C34").items() if "alone" in says]
    assert crowded[0].value is not None
    assert crowded[0].value > 1.5
    assert crowded[0].verdict is SHOWN


def factor_row(factor: float, *components: int, width: float = 0.05) -> ExtensionFactorRow:
    return ExtensionFactorRow(
        application="laplace", processors=36, components=components, clusters=len(components), dilation=4, runtime_s=9,
        extension_factor=factor, ci_low=factor - width, ci_high=factor + width, n=5, verdict="valid",
    )  # fmt: skip


def measurement(run: Timelines, *rows: ExtensionFactorRow) -> Timelines:
    """A whole measurement that found these factors."""
    own = like(run, name="measure-laplace", kind=RunKind.MEASUREMENT)
    return replace(own, records=replace(own.records, extension_factors=list(rows)))


def factor_parts(runs: list[Timelines]) -> dict[str, dict[str, Decision]]:
    """Return the parts of C29 that are about measured factors, by the kind of runs that decide them."""
    return {
        decided.at: {part.says: part for part in decided.decisions if part.says.startswith("measured factor")}
        for decided in decided_claims(runs)
        if decided.claim.id == "C29"
    }


def test_execution_by_clusters_comes_from_measured_factors_too(w1):
    measured = replace(w1, records=replace(w1.records, extension_factors=[factor_row(1.3, 18, 18)]))
    found = parts([measured], "C29")
    assert found["measured factor of laplace on 36 processors in 2 clusters, above 1.2"].verdict is SHOWN
    assert any("heat on 36 processors" in says for says in found)


def test_a_whole_measurement_decides_by_its_factors_over_the_most_clusters(w1):
    """Its rows of one cluster are the one that the factors are relative to, and the one run as if co-allocated."""
    rows = [factor_row(1.0, 36, width=0.0), factor_row(0.9, 36), factor_row(1.1, 18, 18), factor_row(1.4, 9, 9, 9, 9)]
    (decided,) = decided_claims([measurement(w1, *rows)])
    assert (decided.claim.id, decided.at, decided.verdict) == ("C29", "measurement", SHOWN)
    assert [(decision.says, decision.value) for decision in decided.decisions] == [
        ("measured factor of laplace on 36 processors in 4 clusters, above 1.2", 1.4)
    ]


@pytest.mark.parametrize(("factor", "verdict"), [(1.0748, NOT_SHOWN), (1.18, UNDECIDED), (1.3, SHOWN)])
def test_a_factor_rises_markedly_if_it_is_more_than_a_fifth(w1, factor, verdict):
    (decided,) = decided_claims([measurement(w1, factor_row(factor, 9, 9, 9, 9))])
    assert decided.verdict is verdict


def test_a_problem_is_an_application_on_a_grid_and_a_number_of_processors(w1):
    rows = [factor_row(1.3, 18, 18), factor_row(1.4, 12, 12, 12).model_copy(update={"grid": 3600})]
    assert list(factor_parts([measurement(w1, *rows)])["measurement"]) == [
        "measured factor of laplace on 36 processors in 2 clusters, above 1.2",
        "measured factor of laplace grid 3600 on 36 processors in 3 clusters, above 1.2",
    ]


def test_measured_factors_are_live_values_and_decide_nothing_on_simulations(w1):
    measured, simulated = measurement(w1, factor_row(1.3, 18, 18)), like(w1, kind=RunKind.SIMULATION)
    says = "measured factor of laplace on 36 processors in 2 clusters, above 1.2"
    found = factor_parts([measured, simulated])
    assert {at: list(factors) for at, factors in found.items()} == {"measurement": [says], "simulation": []}
    found = factor_parts([measured, simulated, w1])
    assert {at: list(factors) for at, factors in found.items()} == {"campaign": [says], "simulation": []}


def test_jobs_over_one_number_of_clusters_leave_the_execution_time_open(w1):
    (part,) = parts([like(w1, jobs=lambda job: {"clusters": 2})], "C29").values()
    assert part.verdict is UNDECIDED


def test_execution_by_clusters_compares_jobs_that_differ_in_length_by_their_iterations(w1):
    """A live campaign that draws execution times gives every job a number of iterations of its own."""

    def drawn(job: JobRow) -> dict[str, Any]:
        length, name = 100 + job.job, "steps" if job.application == "heat" else "iterations"
        spread = float(job.clusters or 1)
        return {
            "iterations": length, "arguments": json.dumps({"grid": 3600, name: length}),
            "execution_time_s": length * (spread + 0.001 * (job.job % 2)),
        }  # fmt: skip

    found = {says: decided.verdict for says, decided in parts([like(w1, jobs=drawn)], "C29").items()}
    verdicts = {verdict for says, verdict in found.items() if "clusters over" in says}
    assert SHOWN in verdicts
    assert NOT_SHOWN not in verdicts


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"queue": "gs"}, "has queue gs, and .* has placement"),
        ({"jobs": 200}, "has number of jobs 200, and .* has 40"),
        ({"time_scale": 10.0}, "has time scale 10, and .* has 1"),
        ({"workload": {"background": {"band": [0.15, 0.2]}}}, "has background load 15% to 20%, and .* has none"),
        ({"workload": {"quota": 0.5}}, "has quota 0.5, and .* has none"),
        ({"simulated": {**SIMULATED, "times": "run"}}, "has times run, and .* has stated"),
        ({"simulated": {"times": "stated"}}, "has options none, and .* has extension factors 1.0"),
        ({"simulated": {**SIMULATED, "jobs_per_link": 2}}, "has jobs per link 2, and .* has none"),
        ({"simulated": None}, "has times none, and .* has stated"),
        # W1 is compared with W2.
        ({"name": "w2", "simulated": {**SIMULATED, "times": "run"}}, "has times run, and .* has stated"),
    ],
)
def test_runs_that_differ_in_more_than_their_case_decide_nothing_together(w1, changes, sentence):
    first, other = like(w1, simulated=SIMULATED), like(w1, policy="cm", seed=2, simulated=SIMULATED)
    records = replace(other.records, manifest=other.records.manifest.model_copy(update=changes))
    with pytest.raises(InvalidInput, match=sentence):
        decided_claims([first, replace(other, records=records)])


def test_runs_on_clusters_of_other_sizes_decide_nothing_together(w1):
    """Generated topologies share a name."""
    topology = w1.records.manifest.topology
    first, *others = topology.clusters
    smaller = topology.model_copy(update={"clusters": (first.model_copy(update={"nodes": 40}), *others)})
    with pytest.raises(InvalidInput, match=r"has clusters vrije-universiteit 80, .* has vrije-universiteit 134, "):
        decided_claims([w1, like(w1, policy="cm", topology=smaller)])


def test_runs_on_a_topology_of_the_same_name_with_other_costs_decide_nothing_together(w1):
    other = w1.records.manifest.topology.model_copy(update={"middleware": None})
    with pytest.raises(InvalidInput, match=r"has details of the topology \(digest\) \w{8}, and .* has \w{8}: "):
        decided_claims([w1, like(w1, policy="cm", topology=other)])


def test_simulations_that_repeat_other_runs_and_draw_from_other_seeds_are_alike(w1):
    runs = [
        like(w1, policy=policy, simulated={**SIMULATED, "like": f"w1-{policy}", "draw": draw})
        for draw, policy in enumerate(("wf", "cm"))
    ]
    assert parts(runs, "C30")["W1, response: cm < wf"].value == pytest.approx(1.0)


@pytest.mark.parametrize("pattern", ["w1-*-200-jobs", "w2-*-200-jobs", "w30-*-200-jobs-*"])
def test_the_shipped_runs_of_a_campaign_are_alike(pattern):
    paths = sorted(SHIPPED.glob(pattern))
    assert len(paths) >= 3
    assert decided_claims(read_timelines(path) for path in paths)


def test_a_ratio_of_pairs_leaves_out_what_they_have_in_common():
    below = [1.0, 5.0, 9.0, 2.0]
    paired = paired_ratio_of_means([0.8 * value for value in below], below)
    alone = ratio_of_means([0.8 * value for value in below], below)
    assert paired is not None
    assert alone is not None
    assert (paired.value, paired.low, paired.high) == pytest.approx((0.8, 0.8, 0.8))
    assert alone.low is not None
    assert alone.low < 0.5
    assert paired_ratio_of_means([1.0], [0.0]) is None
    zero = paired_ratio_of_means([0.0, 0.0], [1.0, 2.0])
    assert zero is not None
    assert (zero.value, zero.low, zero.high) == (0.0, 0.0, 0.0)


def test_one_run_alone_is_divided_into_batches_of_consecutive_jobs(w1):
    run = CampaignRun.of(w1)
    around = mean_of([run], wait_s)
    assert around is not None
    assert around.n == 10
    assert around.value == pytest.approx(sum(job.wait_time_s or 0.0 for job in run.jobs) / 40)
    other = CampaignRun.of(like(w1, seed=9))
    assert ratio_of([run], wait_s, [other]) is not None


def test_a_run_of_another_campaign_leaves_everything_open(w1):
    assert {decided.verdict for decided in decided_claims([like(w1, name="own")])} == {UNDECIDED}
