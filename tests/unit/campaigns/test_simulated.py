"""Workloads through the simulator: by name or by file, with outcomes written whole or not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.campaigns.workload_sources import prepared
from emulator.model.errors import ImpossibleRequest, InvalidInput, UnknownName
from emulator.model.project import CAMPAIGNS
from emulator.simulator.runtime import FactorTable
from emulator.simulator.runtime_tables import read_factors
from workloads.application_mixes import EXECUTION_TIMES_FILE

JOBS = [
    {"id": 1, "arrival_s": 0.0, "service_s": 10, "components": [20, 20], "queue": 0},
    {"id": 2, "arrival_s": 1.0, "service_s": 5, "components": [16], "queue": 0},
    {"id": 3, "arrival_s": 2.0, "service_s": 5, "components": [16, 16, 16, 16], "queue": 1},
    {"id": 4, "arrival_s": 3.0, "service_s": 5, "components": [8], "queue": 1},
]


def job_list(folder: Path, *jobs: dict[str, object]) -> str:
    path = folder / "jobs.jsonl"
    path.write_text("".join(json.dumps(job) + "\n" for job in jobs or JOBS), encoding="utf-8")
    return str(path)


def outcomes(path: Path) -> dict[int, dict[str, object]]:
    return {line["id"]: line for line in map(json.loads, path.read_text().splitlines())}


def test_a_job_list_under_local_schedulers_job_by_job(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    simulate_workload(job_list(tmp_path), SimulationOptions(queue="ls-do", topology="four-by-32"), out)
    found = outcomes(out)
    assert found[1] == {"id": 1, "start_s": 0.0, "finish_s": 10.0, "clusters": [0, 1]}
    assert found[2]["start_s"] == 10.0  # its home cluster has 12 idle, and it may run nowhere else
    assert found[3]["start_s"] == 10.0
    assert found[4]["start_s"] == 10.0


@pytest.mark.parametrize(("queue", "start_s"), [("placement", 13.0), ("placement-adaptive", 61.0)])
def test_a_blocked_job_of_a_list_is_tried_again_at_the_interval_of_the_paper_that_has_the_queue(
    queue: str, start_s: float, tmp_path: Path
) -> None:
    blocking = {"id": 1, "arrival_s": 0.0, "service_s": 10, "components": [32, 32, 32, 32]}
    jobs = job_list(tmp_path, blocking, {"id": 2, "arrival_s": 1.0, "service_s": 5, "components": [16]})
    out = tmp_path / "out.jsonl"
    simulate_workload(jobs, SimulationOptions(queue=queue, topology="four-by-32"), out)
    assert outcomes(out)[2]["start_s"] == start_s


def test_the_order_of_the_lines_does_not_matter(tmp_path: Path) -> None:
    options = SimulationOptions(queue="lp-rd", topology="four-by-32", seed=3)
    written = []
    for jobs in (JOBS, JOBS[::-1]):
        simulate_workload(job_list(tmp_path, *jobs), options, tmp_path / "out.jsonl")
        written.append((tmp_path / "out.jsonl").read_bytes())
    assert written[0] == written[1]


def test_one_extension_factor_extends_what_runs_in_several_clusters(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    simulate_workload(job_list(tmp_path), SimulationOptions(queue="gs", topology="four-by-32", runtime=1.25), out)
    found = outcomes(out)
    assert (found[1]["finish_s"], found[2]["finish_s"]) == (12.5, 6.0)


@pytest.mark.parametrize(
    "stated",
    [
        "jobs: 4\ninterarrival: {mean_s: 5}\ncomponent_counts: [2]\ncomponent_sizes: [16]\n"
        "service_s: {low_s: 10, high_s: 10}\n",
        "job_list: jobs.jsonl\n",
    ],
    ids=["drawn", "listed"],
)
def test_a_program_of_ones_own_takes_its_stated_time_also_over_several_clusters(stated: str, tmp_path: Path) -> None:
    """The model knows no factor of it, and no cluster of `mini` holds two components of 16."""
    job_list(tmp_path, *({"id": n, "arrival_s": 0.0, "service_s": 10, "components": [16, 16]} for n in range(1, 5)))
    path = tmp_path / "own.yaml"
    path.write_text(f"name: own\ntopology: mini\ncommand: [heat]\n{stated}", encoding="utf-8")
    subject, result = simulate_workload(str(path), SimulationOptions())
    assert (subject.provenance["times"], subject.provenance["factors"]) == ("stated", "none")
    assert result.statistics.jobs_finished == 4
    assert result.statistics.total.execution_s == pytest.approx(10)


def test_a_job_that_can_never_fit_is_named_by_file_line_and_field(tmp_path: Path) -> None:
    path = job_list(tmp_path, *JOBS, {"id": 5, "arrival_s": 4, "service_s": 1, "components": [33], "queue": 0})
    with pytest.raises(InvalidInput, match=r"jobs\.jsonl, line 5: .*components: \[33\] can never be placed"):
        simulate_workload(path, SimulationOptions(queue="gs", topology="four-by-32"), tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_a_queue_that_the_system_lacks_is_named_by_line(tmp_path: Path) -> None:
    path = job_list(tmp_path, {"id": 5, "arrival_s": 4, "service_s": 1, "components": [3], "queue": 4})
    with pytest.raises(InvalidInput, match=r"jobs\.jsonl, line 1: .*queue"):
        simulate_workload(path, SimulationOptions(queue="ls-do", topology="four-by-32"))


def test_a_log_is_simulated_with_what_is_left_out_remarked(tmp_path: Path) -> None:
    lines = ["1 0 -1 10 64 -1 -1 64 20 -1 1 1 1 1 1 1 -1 -1", "2 5 -1 -1 8 -1 -1 8 20 -1 5 1 1 1 1 1 -1 -1"]
    path = tmp_path / "log.swf"
    path.write_text("\n".join(lines), encoding="utf-8")
    options = SimulationOptions(queue="gs", topology="four-by-32", component_limit=16)
    subject, result = simulate_workload(str(path), options, tmp_path / "out.jsonl")
    assert outcomes(tmp_path / "out.jsonl") == {
        1: {"id": 1, "start_s": 0.0, "finish_s": 10.0, "clusters": [0, 1, 2, 3]}
    }
    assert result.statistics.jobs_finished == 1
    assert {remark.line for remark in subject.remarks} == {2}


def test_a_log_whose_jobs_fit_no_cluster_asks_for_a_limit_or_fails_by_line(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("1 0 -1 10 64 -1 -1 64 20 -1 1 1 1 1 1 1 -1 -1\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"log\.swf, line 1: .*\[64\] can never be placed"):
        simulate_workload(str(path), SimulationOptions(queue="gs", topology="four-by-32"))


@pytest.mark.parametrize(
    ("campaign", "policy"), [("W1", "wf"), ("W1", "cm"), ("W2", "fcm"), ("W30", "wf"), ("W50", "cf")]
)
def test_the_published_campaigns_run_under_every_policy_they_were_run_under(campaign: str, policy: str) -> None:
    _, result = simulate_workload(campaign, SimulationOptions(policy=policy))
    assert result.statistics.jobs_finished == 200


def test_flexible_cluster_minimization_waits_least(tmp_path: Path) -> None:
    waits = {
        policy: simulate_workload("W2", SimulationOptions(policy=policy))[1].statistics.total.wait_s
        for policy in ("wf", "cm", "fcm")
    }
    assert waits["fcm"] is not None
    assert waits["fcm"] < min(waits["wf"] or 0.0, waits["cm"] or 0.0)


def test_the_stream_of_a_study_needs_a_load() -> None:
    with pytest.raises(InvalidInput, match="--load"):
        prepared("25-25-25-25", SimulationOptions())
    _, result = simulate_workload("25-25-25-25", SimulationOptions(load=0.5, jobs=2000, queue="gp"))
    assert result.statistics.jobs_finished == 2000


@pytest.mark.parametrize(("stream", "factor"), [("50-25-25-0", 1.5), ("das-128-16", 1.0)])
def test_the_load_of_a_stream_is_gross_utilization_under_the_factor_that_is_given(stream: str, factor: float) -> None:
    """Without one, jobs of the first stream are not extended, and those of the second are."""
    options = SimulationOptions(load=0.5, jobs=20_000, queue="gs", runtime=factor)
    _, result = simulate_workload(stream, options)
    assert result.statistics.gross_utilization == pytest.approx(0.5, abs=0.05)


def test_the_load_of_a_stream_takes_factors_from_the_table_that_is_given() -> None:
    options = SimulationOptions(load=0.5, jobs=1)
    own, given = (
        next(iter(prepared("poisson-rco", replace(options, runtime=runtime)).jobs)).arrival_s
        for runtime in (None, read_factors(EXECUTION_TIMES_FILE))
    )
    assert given == pytest.approx(own)
    with pytest.raises(UnknownName, match=r"say nothing of 'poisson' on \d+ processors"):
        prepared("poisson-rco", replace(options, runtime=FactorTable({})))


@pytest.mark.parametrize(
    ("source", "options", "option"),
    [
        ("W1", SimulationOptions(load=0.5), "--load"),
        ("W1", SimulationOptions(component_limit=4), "--component-limit"),
        ("jobs.jsonl", SimulationOptions(jobs=3), "--jobs"),
        ("W1", SimulationOptions(seed=-1), "--seed"),
        ("25-25-25-25", SimulationOptions(load=float("nan")), "--load"),
        ("25-25-25-25", SimulationOptions(load=0.5, topology="cisne", middleware=True), "'cisne' states none"),
    ],
)
def test_a_wish_that_means_nothing_is_refused_not_ignored(source: str, options: SimulationOptions, option: str) -> None:
    with pytest.raises(InvalidInput, match=option):
        prepared(source, options)


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no workload 'W3'"):
        prepared("W3", SimulationOptions())
    for options in (
        SimulationOptions(queue="fifo"),
        SimulationOptions(policy="best-fit"),
        SimulationOptions(topology="moon"),
    ):
        with pytest.raises(UnknownName):
            simulate_workload(job_list(tmp_path), options)


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        ("25-25-25-25", SimulationOptions(load=0.5, topology="nope"), "There is no topology 'nope' (known: cisne, "),
        ("W1", SimulationOptions(topology="nope"), "There is no topology 'nope'"),
        ("25-25-25-25", SimulationOptions(load=0.5, queue="ls-d"), "; did you mean 'ls-"),
        (
            "25-25-25-2",
            SimulationOptions(load=0.5),
            "; did you mean '25-25-25-25'",
        ),
    ],
)
def test_what_does_not_exist_is_named_and_nothing_else(source: str, options: SimulationOptions, sentence: str) -> None:
    with pytest.raises(UnknownName) as refused:
        simulate_workload(source, options)
    assert sentence in str(refused.value)


def test_names_are_found_whatever_their_case(tmp_path: Path) -> None:
    typed = SimulationOptions(load=0.5, jobs=200, topology="Four-By-32", queue="SC", policy="WF")
    subject, result = simulate_workload("DAS-128-16", typed)
    assert (subject.name, subject.queue, subject.policy) == ("das-128-16", "sc", "wf")
    assert result.statistics.jobs_finished == 200
    jobs = Path(job_list(tmp_path)).rename(tmp_path / "JOBS.JSONL")
    assert prepared(str(jobs), SimulationOptions(topology="FOUR-BY-32", queue="LS-do")).queue == "ls-do"
    assert prepared("w2", SimulationOptions(policy="Cm")).policy == "cm"


def test_a_campaign_too_large_for_a_topology_is_refused() -> None:
    with pytest.raises(ImpossibleRequest):
        simulate_workload("W1", SimulationOptions(topology="mini"))


def test_a_quota_leaves_a_share_of_each_cluster(tmp_path: Path) -> None:
    """Half of 32 processors: one job of 16 fits each cluster, and a component of 20 none."""
    jobs = [job | {"components": [16]} for job in JOBS]
    options = SimulationOptions(queue="gs", topology="four-by-32", quota=0.5)
    simulate_workload(job_list(tmp_path, *jobs, *[jobs[0] | {"id": 9, "arrival_s": 4.0}]), options, tmp_path / "out")
    found = outcomes(tmp_path / "out")
    assert [found[id]["clusters"] for id in (1, 2, 3, 4)] == [[0], [1], [2], [3]]
    assert found[9]["start_s"] == 6.0  # every cluster is at its quota until job 2 departs
    with pytest.raises(InvalidInput, match=r"components: \[20, 20\] can never be placed .* within a quota of 0\.5"):
        simulate_workload(job_list(tmp_path), options)


@pytest.mark.parametrize("quota", [0, -1, 1.1, float("nan")])
def test_a_quota_that_is_no_share_is_refused_in_one_sentence(quota: float, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"^--quota: must lie above 0 and be at most 1, not "):
        prepared(job_list(tmp_path), SimulationOptions(quota=quota))


def test_a_campaigns_quota_is_its_own_unless_another_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        (CAMPAIGNS / "first.yaml").read_text(encoding="utf-8") + "quota: 0.75\nservice_s: {low_s: 60, high_s: 120}\n",
        encoding="utf-8",
    )
    assert prepared(str(path), SimulationOptions()).quota == 0.75
    assert prepared(str(path), SimulationOptions(quota=1)).quota == 1


def campaign_under_load(folder: Path, load: str) -> str:
    path = folder / "loaded.yaml"
    text = (CAMPAIGNS / "W2.yaml").read_text(encoding="utf-8")
    others = [line for line in text.splitlines() if not line.startswith("background")]
    text = "\n".join(others)
    path.write_text(f"{text}\nbackground: {load}\n", encoding="utf-8")
    return str(path)


def test_a_campaigns_background_load_is_simulated_at_any_time_scale(tmp_path: Path) -> None:
    local = "{interarrival: {mean_s: 60}, sizes: [4, 8], lengths: {low_s: 60, high_s: 300}}"
    path = campaign_under_load(tmp_path, f"{{band: [0.15, 0.2], local_jobs: {local}}}")
    _, loaded = simulate_workload(path, SimulationOptions(jobs=60))
    _, alone = simulate_workload("W2", SimulationOptions(jobs=60, band="none"))
    assert loaded.background is not None
    assert loaded.background.share_in_band is not None
    assert loaded.background.share_in_band >= 0.95
    assert alone.background is None
    assert loaded.statistics.total.wait_s > alone.statistics.total.wait_s
    path = campaign_under_load(tmp_path, f"{{band: [0.15, 0.2], local_jobs: {local}}}\ntime_scale: 10")
    _, scaled = simulate_workload(path, SimulationOptions(jobs=60))
    # All but TCP's timeouts, which Heat's master meets once or twice in a job, is divided.
    assert scaled.statistics.makespan_s == pytest.approx(loaded.statistics.makespan_s / 10, rel=0.02)
    assert scaled.background is not None
    assert scaled.background.share_in_band == pytest.approx(loaded.background.share_in_band, abs=0.02)


def test_one_cluster_instead_of_several_carries_the_whole_background_load() -> None:
    _, result = simulate_workload("W2", SimulationOptions(jobs=60, queue="sc"))
    assert result.background is not None
    assert result.background.share_in_band == 1.0


def test_a_band_is_that_of_a_campaign_only(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--band: means nothing for a job list"):
        simulate_workload(job_list(tmp_path), SimulationOptions(band="10-20"))


def test_jobs_of_a_campaign_come_more_often_by_a_factor() -> None:
    usual, _ = simulate_workload("W1", SimulationOptions(jobs=40, band="none"))
    often, result = simulate_workload("W1", SimulationOptions(jobs=40, band="none", interarrival_factor=0.25))
    assert often.record["interarrival"]["mean_s"] == usual.record["interarrival"]["mean_s"] / 4
    assert result.statistics.jobs_finished == 40
    with pytest.raises(InvalidInput, match="--interarrival-factor: means nothing for the stream of a study"):
        simulate_workload("50-25-25-0", SimulationOptions(load=0.5, jobs=10, interarrival_factor=0.5))


def test_a_time_scale_that_is_asked_for_is_as_one_that_the_campaign_states(tmp_path: Path) -> None:
    stated = tmp_path / "scaled.yaml"
    stated.write_text((CAMPAIGNS / "W2.yaml").read_text() + "time_scale: 10\n")
    asked, result = simulate_workload("W2", SimulationOptions(jobs=30, time_scale=10.0))
    written, as_stated = simulate_workload(str(stated), SimulationOptions(jobs=30))
    assert asked.record == written.record
    assert result.statistics == as_stated.statistics
    with pytest.raises(InvalidInput, match="--time-scale: means nothing for a job list"):
        simulate_workload(job_list(tmp_path), SimulationOptions(time_scale=10.0))


@pytest.mark.parametrize(
    ("load", "options", "said"),
    [
        ("{band: [0.2, 0.15]}", SimulationOptions(), "band: its upper end must be above its lower end"),
        ("{band: [0.15, 0.2], local_jobs: gone.swf}", SimulationOptions(), r"gone\.swf: cannot be read"),
    ],
)
def test_a_load_that_cannot_be_simulated_is_refused_in_a_sentence(
    tmp_path: Path, load: str, options: SimulationOptions, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        simulate_workload(campaign_under_load(tmp_path, load), options)
