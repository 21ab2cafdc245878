"""`testbed replay`: a run's directory, or several, in; how many decisions were made again and which differ out."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from emulator.cli.main import app
from emulator.model.errors import InvalidInput
from emulator.model.job import JobSpecification, JobState
from emulator.model.records import RunKind
from emulator.model.request import JobRequest, RequestKind
from emulator.model.views import EventKind, EventView, JobView, RunRequest
from emulator.policies.decisions import Decision, decision_record, recorded_decision
from emulator.policies.factory import deciders
from emulator.policies.protocols import Arrival, Scan, Start, WaitingJob
from emulator.runs.recorded_run import begun_manifest
from emulator.runs.replay import replay_run, replay_runs
from emulator.runs.run_directory import RunDirectory

REQUEST = RunRequest(name="r", queue="placement", scan_interval_s=2, tries_threshold=9, seed=3)


def events(processors: list[int], broken: bool = False, request: RunRequest = REQUEST) -> list[EventView]:
    """Jobs of 10 processors on each cluster until none fits, and a scan that places nothing."""
    made = deciders(request.queue, request.policy, request.scanning, request.seed, quota=request.quota)
    idle, found = list(processors), []
    arrivals = [
        Arrival(WaitingJob(job, JobRequest(RequestKind.NON_FIXED, (10,)))) for job in range(1, len(processors) + 2)
    ]
    for number, event in enumerate([*arrivals, Scan()]):
        snapshot = made.snapshot() if number == 0 else None
        decision = Decision(number, 0.3 * number, event, tuple(idle), (), 0, snapshot=snapshot)
        answers = tuple(made.decide(event, decision.state(processors)))
        for answer in answers:
            assert isinstance(answer, Start)
            for cluster, size in answer.placement.by_cluster().items():
                idle[cluster] -= size
        waiting = len(made.discipline.waiting()) + (broken and number == 2)
        found.append(Decision(number, decision.time_s, event, decision.idle, answers, waiting, snapshot=snapshot))
    started = {"request": request.model_dump(mode="json")}
    details = [
        (EventKind.RUN_STARTED, started),
        *((EventKind.DECISION, decision_record(decision)) for decision in found),
    ]
    return [
        EventView(sequence=number, run=1, kind=kind, time_s=0.0, host_moment_s=0.0, detail=detail)
        for number, (kind, detail) in enumerate(details, start=1)
    ]


def write(testbed, path, written: list[EventView]) -> None:
    manifest = begun_manifest(testbed, RunKind.CAMPAIGN, REQUEST, {}, 1)
    with RunDirectory(path, manifest) as directory:
        for event in written:
            directory.append_event(event)


@pytest.fixture
def processors(testbed) -> list[int]:
    return [cluster.processors for cluster in testbed.topology.clusters]


def replay(*arguments: object):
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


def test_a_run_is_replayed_with_no_difference(testbed, processors, tmp_path):
    write(testbed, tmp_path / "run", events(processors))
    ended = replay(tmp_path / "run")
    assert (ended.exit_code, ended.stdout) == (0, f"{len(processors) + 2} decisions replayed, 0 differences\n")


def test_a_run_within_a_quota_is_replayed_within_the_same(testbed, processors, tmp_path):
    """A quota of 0.7 of 16 processors holds a job of 10, one of 0.5 does not."""
    within = REQUEST.model_copy(update={"quota": 0.7})
    written = events(processors, request=within)
    write(testbed, tmp_path / "run", written)
    assert replay_run(tmp_path / "run").differences == ()
    tight = {"request": REQUEST.model_copy(update={"quota": 0.5}).model_dump(mode="json")}
    write(testbed, tmp_path / "other", [written[0].model_copy(update={"detail": tight}), *written[1:]])
    assert "answers" in {difference.what for difference in replay_run(tmp_path / "other").differences}


def test_a_run_whose_record_says_otherwise_ends_with_what_differs(testbed, processors, tmp_path):
    write(testbed, tmp_path / "run", events(processors, broken=True))
    ended = replay(tmp_path / "run", "--json")
    said = json.loads(ended.stdout)
    assert (ended.exit_code, said["decisions"], said["differences"]) == (1, len(processors) + 2, 1)
    assert said["first"] == [{"number": 2, "time_s": 0.6, "what": "waiting", "recorded": "1", "replayed": "0"}]
    assert " 1 difference\n" in replay(tmp_path / "run").stdout


def test_each_part_of_a_resumed_run_is_replayed_by_itself(testbed, processors, tmp_path):
    write(testbed, tmp_path / "run", events(processors))
    write(testbed, tmp_path / "run" / "resumed-1", events(processors))
    found = replay_run(tmp_path / "run")
    assert (found.decisions, found.differences) == (2 * len(processors) + 4, ())


def test_a_torn_last_line_is_left_out_and_a_broken_one_is_named(testbed, processors, tmp_path):
    write(testbed, tmp_path / "run", events(processors))
    file = tmp_path / "run" / "decisions.jsonl"
    whole = file.read_text()
    file.write_text(whole + '{"sequence": 9')
    assert replay_run(tmp_path / "run").differences == ()
    file.write_bytes(whole.encode() + b"\xff\n")
    with pytest.raises(InvalidInput, match=f"decisions.jsonl, line {len(whole.splitlines()) + 1}: "):
        replay_run(tmp_path / "run")
    file.write_text(whole + "nothing\n")
    with pytest.raises(InvalidInput, match=f"decisions.jsonl, line {len(whole.splitlines()) + 1}: "):
        replay_run(tmp_path / "run")


def test_the_decisions_of_all_runs_in_a_folder_add_up_and_those_without_any_are_named(testbed, processors, tmp_path):
    folder = tmp_path / "sweep"
    for name in ("wf-1", "cm-1"):
        write(testbed, folder / name, events(processors))
    write(testbed, folder / "wf-2", [])
    ended = replay(folder)
    assert ended.exit_code == 0
    assert f"2 runs: {2 * len(processors) + 4} decisions replayed, 0 differences\n" in ended.stdout
    assert ended.stderr == "No decisions are recorded of: wf-2.\n"
    assert {run: found.decisions for run, found in replay_runs(folder).items()} == {
        "cm-1": len(processors) + 2, "wf-1": len(processors) + 2, "wf-2": 0,
    }  # fmt: skip


def test_what_differs_in_a_folder_of_runs_is_named_with_its_run(testbed, processors, tmp_path):
    write(testbed, tmp_path / "sweep" / "cm-1", events(processors))
    write(testbed, tmp_path / "sweep" / "wf-1", events(processors, broken=True))
    ended = replay(tmp_path / "sweep", "--json")
    said = json.loads(ended.stdout)
    assert (ended.exit_code, said["decisions"], said["differences"]) == (1, 2 * len(processors) + 4, 1)
    assert said["first"] == [
        {"run": "wf-1", "number": 2, "time_s": 0.6, "what": "waiting", "recorded": "1", "replayed": "0"}
    ]
    counts = [(row["run"], row["decisions"], row["differences"]) for row in said["runs"]]
    assert counts == [("cm-1", len(processors) + 2, 0), ("wf-1", len(processors) + 2, 1)]


def test_a_folder_without_decisions_is_refused(testbed, tmp_path):
    write(testbed, tmp_path / "sweep" / "wf-1", [])
    with pytest.raises(InvalidInput, match=r"sweep: none of its runs holds decisions .*name a folder of live runs"):
        replay_runs(tmp_path / "sweep")


def test_what_is_no_run_or_lacks_its_request_is_refused_in_one_sentence(testbed, processors, tmp_path):
    with pytest.raises(InvalidInput, match=r"is no run's directory"):
        replay_run(tmp_path)
    write(testbed, tmp_path / "undecided", events(processors)[:1])
    with pytest.raises(InvalidInput, match=r"undecided: holds no decisions .*name the directory of a live run"):
        replay_run(tmp_path / "undecided")
    write(testbed, tmp_path / "run", events(processors)[1:])
    with pytest.raises(InvalidInput, match="holds decisions, but not the request of their run"):
        replay_run(tmp_path / "run")


def changed(testbed, path, written: list[EventView]) -> list[tuple[str, int]]:
    """The differences of a record: what differs, and the number of the decision."""
    write(testbed, path, written)
    return [(difference.what, difference.number) for difference in replay_run(path).differences]


def with_scans(processors: list[int]) -> list[EventView]:
    """A record that ends with four scans at one state: none of them changes anything that a later one shows."""
    written = events(processors)
    last = written[-1]
    for more in (1, 2, 3):
        detail = last.detail | {"number": last.detail["number"] + more}
        written.append(last.model_copy(update={"sequence": last.sequence + more, "detail": detail}))
    return written


def test_a_decision_that_was_removed_is_named(testbed, processors, tmp_path):
    written = with_scans(processors)
    assert changed(testbed, tmp_path / "whole", written) == []
    number = written[-3].detail["number"]
    assert changed(testbed, tmp_path / "one", written[:-3] + written[-2:]) == [("missing", number)]
    write(testbed, tmp_path / "two", written[:-3] + written[-1:])
    (difference,) = replay_run(tmp_path / "two").differences
    assert difference.replayed == f"decisions {number} to {number + 1}"
    assert difference.recorded == f"nothing before decision {number + 2}"


def test_decisions_that_were_reversed_or_repeated_are_named(testbed, processors, tmp_path):
    written = with_scans(processors)
    number = written[-3].detail["number"]
    swapped = [*written[:-3], written[-2], written[-3], written[-1]]
    assert changed(testbed, tmp_path / "swapped", swapped) == [("order", number)]
    twice = [*written[:-2], written[-3], *written[-2:]]
    assert changed(testbed, tmp_path / "twice", twice) == [("order", number)]


def test_a_first_decision_that_was_removed_is_named(testbed, processors, tmp_path):
    written = events(processors)
    assert changed(testbed, tmp_path / "run", [written[0], *written[2:]])[0] == ("missing", 0)


def test_a_last_decision_that_was_removed_is_missed_by_the_job_that_it_placed(testbed, processors, tmp_path):
    written = events(processors)[:-2]
    job = JobView(
        id=len(processors), run=1, specification=JobSpecification(application="poisson", components=(10,)),
        state=JobState.CLAIMING, submitted_s=0.0,
    )  # fmt: skip
    placed = EventView(sequence=99, run=1, kind=EventKind.PLACED, time_s=1.0, host_moment_s=0.0, job=job)
    assert changed(testbed, tmp_path / "whole", [*written, placed]) == []
    assert changed(testbed, tmp_path / "cut", [*written[:-1], placed]) == [("missing", len(processors) - 1)]


def test_the_numbers_of_a_process_that_came_back_begin_again(testbed, processors, tmp_path):
    written = with_scans(processors)
    last = written[-1]
    made = deciders(REQUEST.queue, REQUEST.policy, REQUEST.scanning, REQUEST.seed)
    for event in written[1:]:
        decision = recorded_decision(event.detail)
        made.decide(decision.event, decision.state(processors))
    again = last.detail | {"number": 0, "snapshot": made.snapshot()}
    written.append(last.model_copy(update={"sequence": last.sequence + 1, "detail": again}))
    assert changed(testbed, tmp_path / "run", written) == []
