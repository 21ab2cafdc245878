"""A live run beside a simulation of it: errors, the live runs' spread, placements that differ, and what is refused."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.records import RunKind, RunProgress, TransferRow
from emulator.reports.compared_runs import TIMES, compare
from emulator.reports.comparison_tables import (
    columns_of,
    comparison_object,
    left_out_in_words,
    placements_in_words,
    quantity_table,
    shown_jobs,
)
from emulator.reports.figures.figure import data_csv
from emulator.reports.figures.overlaid import finished_in_all, overlaid
from emulator.runs.run_directory import RunRecords, read_run
from tests.unit.reports.simulated_runs import simulated_run
from tests.unit.reports.test_figures import assert_legible

MEAN_TRANSFER = ("transfer", "mean")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> RunRecords:
    return read_run(simulated_run(tmp_path_factory.mktemp("runs") / "live", jobs=20))


def later(run: RunRecords, by_s: float, factor: float = 1.0) -> RunRecords:
    """The same run where every job starts `by_s` later and runs `factor` times as long."""
    jobs = [
        job.model_copy(
            update={
                "started_s": job.started_s + by_s, "wait_time_s": job.wait_time_s + by_s,
                "execution_time_s": factor * job.execution_time_s,
                "finished_s": job.started_s + by_s + factor * job.execution_time_s,
                "response_time_s": job.wait_time_s + by_s + factor * job.execution_time_s,
            }
        )
        for job in run.jobs
        if job.started_s is not None and job.wait_time_s is not None and job.execution_time_s is not None
    ]  # fmt: skip
    return replace(run, path=Path("other"), jobs=jobs)


def changed(run: RunRecords, **changes: Any) -> RunRecords:
    return replace(run, path=Path("other"), manifest=run.manifest.model_copy(update=changes))


def test_a_run_beside_itself_has_no_error_and_no_other_placement(live):
    found = compare(live, live)
    assert {quantity.error for quantity in found.quantities} == {0.0}
    assert placements_in_words(found) == "All 20 placements are the same."
    assert all(job.difference_s("started_s") == 0 for job in found.jobs)


def test_errors_are_relative_to_the_live_run(live):
    found = compare(live, later(live, 5.0, factor=1.1))
    errors = {(quantity.name, quantity.statistic): quantity.error for quantity in found.quantities}
    waits = [job.wait_time_s for job in live.jobs]
    assert errors["execution", "mean"] == pytest.approx(0.1)
    assert errors["execution", "95%"] == pytest.approx(0.1)
    assert errors["wait", "mean"] == pytest.approx(5 / statistics.fmean(waits))
    assert {name for name, _ in errors} == {"start", "wait", "execution", "response", "makespan", "gross utilization"}


def test_transfers_of_files_are_compared_where_both_runs_have_some(live):
    size = {"file": "input", "source": "delft", "target": "leiden", "size_bytes": 1e6}
    transfers = [TransferRow(job=1, began_s=1.0, arrived_s=1.0 + lasted_s, **size) for lasted_s in (2.0, 4.0)]
    longer = [row.model_copy(update={"arrived_s": row.arrived_s + 1.0}) for row in transfers]
    found = compare(replace(live, transfers=transfers), replace(live, transfers=longer))
    (mean,) = (quantity for quantity in found.quantities if (quantity.name, quantity.statistic) == MEAN_TRANSFER)
    assert (mean.live, mean.simulated) == (3.0, 4.0)
    one_sided = compare(replace(live, transfers=transfers), live)
    assert "transfer" not in {quantity.name for quantity in one_sided.quantities}


def test_transfers_are_those_of_the_jobs_that_finished_in_every_run(live):
    first, second = live.jobs[:2]
    size = {"file": "input", "source": "delft", "target": "leiden", "size_bytes": 1e6, "began_s": 1.0}
    transfers = [
        TransferRow(job=first.job, arrived_s=3.0, **size), TransferRow(job=second.job, arrived_s=101.0, **size)
    ]  # fmt: skip
    whole = replace(live, transfers=transfers)
    failed = replace(whole, jobs=[first, second.model_copy(update={"state": "failed"}), *live.jobs[2:]])
    (mean,) = (found for found in compare(failed, whole).quantities if (found.name, found.statistic) == MEAN_TRANSFER)
    assert (mean.live, mean.simulated) == (2.0, 2.0)


def test_the_makespan_lasts_from_the_first_arrival_to_the_last_finish(live):
    makespan = next(quantity for quantity in compare(live, live).quantities if quantity.name == "makespan")
    assert makespan.live == max(job.finished_s for job in live.jobs) - min(job.submitted_s for job in live.jobs)


def test_the_makespan_ends_with_the_last_job_that_finished_in_every_run(live):
    last = max(live.jobs, key=lambda job: job.finished_s)
    failed = last.model_copy(update={"state": "failed"})
    broken = replace(live, path=Path("other"), jobs=[failed if job is last else job for job in live.jobs])
    for first, second in ((live, broken), (broken, live)):
        makespan = next(quantity for quantity in compare(first, second).quantities if quantity.name == "makespan")
        assert makespan.error == 0.0
        assert makespan.live < last.finished_s - min(job.submitted_s for job in live.jobs)


def test_an_error_is_seen_beside_the_spread_of_live_runs(live):
    repeats = [later(live, 0.0, factor=0.95), later(live, 0.0, factor=1.05)]
    found = compare(live, later(live, 0.0, factor=1.08), repeats)
    execution = found.quantities[6]
    assert (execution.name, execution.statistic) == ("execution", "mean")
    assert execution.spread == pytest.approx(0.1)
    assert (found.live_runs, execution.within_spread) == (3, True)
    assert compare(live, later(live, 0.0, factor=1.12), repeats).quantities[6].within_spread is False
    row = next(row for row in quantity_table(found, ("live: a", "live: b")) if row["quantity"] == "execution mean")
    assert (row["error"], row["live runs' spread"], row["within it"]) == ("+8.00%", "10.00%", "yes")
    assert list(row)[1:3] == ["live: a", "live: b"]


def test_the_columns_say_of_which_kind_each_run_is(live):
    simulated = changed(live, kind=RunKind.SIMULATION)
    assert columns_of(compare(live, simulated), ("x/run", "y/run")) == ("live: x/run", "simulated: y/run")
    assert columns_of(compare(live, live), ("run (1)", "run (2)")) == ("live: run (1)", "live: run (2)")


def test_times_are_compared_over_the_jobs_that_finished_in_every_run(live):
    longest = max(live.jobs, key=lambda job: job.execution_time_s)
    failed = {"state": "failed", "started_s": None, "wait_time_s": None, "execution_time_s": None,
              "response_time_s": None, "finished_s": None}  # fmt: skip
    broken = replace(
        live, jobs=[job.model_copy(update=failed) if job.name == longest.name else job for job in live.jobs]
    )
    found = compare(broken, live)
    times = [quantity for quantity in found.quantities if quantity.name in TIMES.values()]
    assert {quantity.error for quantity in times} == {0.0}
    assert left_out_in_words(found) == "Times are those of the 19 of 20 jobs that finished in every run."
    assert (comparison_object(found)["finished"], left_out_in_words(compare(live, live))) == (19, "")


def test_without_repeats_the_spread_is_unknown(live):
    assert {quantity.spread for quantity in compare(live, live).quantities} == {None}


def moved(run: RunRecords, name: str, placed_s: float, clusters: dict[int, str]) -> RunRecords:
    """The same run where job `name` is placed at another time on other clusters, by the number of its component."""
    number = next(job.job for job in run.jobs if job.name == name)
    components = [
        row.model_copy(update={"cluster": clusters.get(row.component, row.cluster)}) if row.job == number else row
        for row in run.components
    ]
    jobs = [job.model_copy(update={"placed_s": placed_s}) if job.job == number else job for job in run.jobs]
    return replace(run, path=Path("other"), components=components, jobs=jobs)


def test_the_first_different_placement_is_named_with_the_jobs_that_held_processors_in_one_run_only(live):
    order = sorted(live.jobs, key=lambda job: job.placed_s)
    before, job = order[0], order[1]
    assert before.released_s > job.placed_s
    late_s = before.released_s + 1
    found = compare(live, moved(live, job.name, late_s, {0: "leiden", 1: "utrecht"})).placements
    assert (found.first, len(found.different)) == (job.name, 1)
    assert f"It was placed at {job.placed_s:.3f} s live and at {late_s:.3f} s simulated" in found.because
    assert "only live, processors were held by" in found.because
    assert f"{before.name} ({before.placed_s:.3f} to {before.released_s:.3f} s live" in found.because


def test_where_the_same_jobs_held_processors_others_decided(live):
    first = min(live.jobs, key=lambda job: job.placed_s)
    found = compare(live, moved(live, first.name, first.placed_s, {0: "leiden"})).placements
    assert found.first == first.name
    assert found.because.endswith("the same jobs held processors in both, so others than these jobs decided it.")


def test_components_of_one_size_may_change_places(live):
    pair = next(rows for job in live.jobs if len(rows := [row for row in live.components if row.job == job.job]) > 1)
    one, two = pair[0], pair[1]
    assert one.processors == two.processors
    swapped = [
        row.model_copy(update={"cluster": two.cluster if row is one else one.cluster}) if row in (one, two) else row
        for row in live.components
    ]
    assert compare(live, replace(live, components=swapped)).placements.different == ()


def test_runs_in_each_others_places_are_refused(live):
    simulated = changed(live, kind=RunKind.SIMULATION)
    assert compare(live, simulated).live is live
    with pytest.raises(InvalidInput, match=r"other: is a simulation, and .*live a live run: name the live run first"):
        compare(simulated, live)
    with pytest.raises(InvalidInput, match=r"--live: other is a simulation, and .*live a campaign: name live runs"):
        compare(live, simulated, [simulated])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"seed": 7}, "other: has seed 7, and .*live has 1: compare runs of one seed"),
        ({"time_scale": 10.0}, "other: has time scale 10, and .*live has 1"),
        ({"policy": "cm"}, "other: was scheduled by cm / placement, and .*live by wf / placement"),
        ({"progress": RunProgress.INCOMPLETE}, "other: was cut short .20 of 20 jobs are in it, incomplete."),
        ({"kind": RunKind.MEASUREMENT}, "other: is a measurement"),
    ],
)
def test_a_run_that_cannot_be_compared_is_refused_in_a_sentence(live, changes, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        compare(live, changed(live, **changes))


def test_a_run_on_other_clusters_is_refused(live):
    other = changed(live, topology=topology_named("das2"))
    with pytest.raises(InvalidInput, match=r"other: ran on other clusters \(das2\) than .* of one topology"):
        compare(live, other)


@pytest.mark.parametrize("changes", [{"intended_arrival_s": 1e6}, {"application": "poisson"}, {"components": (1, 2)}])
def test_another_schedule_is_refused(live, changes):
    other = replace(live, path=Path("other"), jobs=[live.jobs[0].model_copy(update=changes), *live.jobs[1:]])
    with pytest.raises(InvalidInput, match=f"other: has another schedule than .*: job '{live.jobs[0].name}' differs"):
        compare(live, other)


def test_another_job_is_refused(live):
    other = replace(live, path=Path("other"), jobs=[live.jobs[0].model_copy(update={"name": "x"}), *live.jobs[1:]])
    with pytest.raises(InvalidInput, match=r"other: has another schedule than .*: only one of them has job"):
        compare(live, other)


def test_jobs_of_one_name_are_refused(live):
    twice = live.jobs[0].model_copy(update={"name": live.jobs[1].name})
    with pytest.raises(InvalidInput, match="other: two jobs have the same name"):
        compare(live, replace(live, path=Path("other"), jobs=[twice, *live.jobs[1:]]))


def test_the_figure_holds_the_times_of_every_job(live):
    figure = overlaid([compare(live, later(live, 3.0))], ["live", "simulated"])
    assert [row["simulated_started_s"] for row in figure.rows] == [row["live_started_s"] + 3 for row in figure.rows]
    assert data_csv(figure.rows).count("\n") == 21
    assert_legible(figure)


def test_the_figure_draws_the_jobs_that_finished_in_every_run(live):
    failed = live.jobs[3].model_copy(update={"state": "failed"})
    mine, theirs = finished_in_all([live.jobs, [*live.jobs[:3], failed, *live.jobs[4:]]])
    assert [job.name for job in mine] == [job.name for job in theirs]
    assert failed.name not in {job.name for job in mine}
    assert len(mine) == len(live.jobs) - 1


def test_what_is_found_is_one_object_for_programs(live):
    found = json.loads(json.dumps(comparison_object(compare(live, later(live, 5.0)))))
    assert found["jobs"][0]["difference_of_started_s"] == pytest.approx(5)
    assert found["placements"]["different"] == []
    shown = shown_jobs(compare(live, later(live, 5.0)))
    assert shown[0]["wait (s)"].endswith("+5.00")
