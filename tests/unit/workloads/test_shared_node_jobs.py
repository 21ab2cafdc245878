"""Jobs and local users of non-dedicated clusters: patterns, published ranges, streams and lists."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.local_users import PROFILES
from emulator.model.project import PROJECT_ROOT
from emulator.model.records import JobRow
from emulator.runs.run_directory import read_rows
from workloads.local_users import drawn_users, named_users
from workloads.parallel_programs import (
    PROGRAMS,
    SIZES,
    program_named,
    steps_of,
)
from workloads.shared_node_jobs import INTERARRIVAL_S, MEAN_EXECUTION_S, published_jobs, read_shared_jobs


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
def test_the_ends_of_a_range_are_those_of_two_and_eight_tasks(program):
    for between in (program.memory_mb, program.processor_percent, program.execution_s):
        assert between.of(2) == pytest.approx(between.high)
        assert between.of(8) == pytest.approx(between.low)
        assert between.of(4) == pytest.approx((between.low * between.high) ** 0.5)
        assert between.of(1) == between.of(2)
        assert between.of(64) == pytest.approx(between.of(8))


def test_the_published_streams():
    jobs = published_jobs("DIT", 3)
    assert len(jobs) == 90
    assert {job.tasks for job in jobs} == set(SIZES)
    assert {job.name for job in jobs} == set(PROGRAMS)
    assert [job.arrival_s for job in jobs] == sorted(job.arrival_s for job in jobs)
    assert INTERARRIVAL_S["dit"] == MEAN_EXECUTION_S == 2 * INTERARRIVAL_S["sit"]
    many = published_jobs("sit", 4, jobs=4000)
    assert many[-1].arrival_s / 4000 == pytest.approx(MEAN_EXECUTION_S / 2, rel=0.08)
    assert sum(job.steps.execution_s for job in many) / 4000 == pytest.approx(MEAN_EXECUTION_S, rel=0.08)


@pytest.mark.parametrize("tasks", SIZES)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
def test_recorded_live_jobs_use_the_published_share_of_a_processor_unless_users_disturb_them(program, tasks):
    """Under Basic and 2DBF a job shares its nodes with local users only, who make the share smaller."""
    shares = []
    for policy in ("basic", "2dbf"):
        for job in read_rows(PROJECT_ROOT / f"docs/results/shared-nodes/sit-dense-{policy}-90-jobs", JobRow):
            stated = json.loads(job.arguments)
            if (stated["pattern"], job.processors) == (program.pattern, tasks):
                shares.append(100 * stated["iterations"] * stated["compute-s"] / job.runtime_s)
    assert max(shares) == pytest.approx(program.processor_percent.of(tasks), rel=1e-3)


def test_one_choice_changes_nothing_else():
    plain, closer = published_jobs("sit", 3), published_jobs("sit", 3, interarrival_factor=0.5, estimate_factor=2.0)
    assert [job.steps for job in plain] == [job.steps for job in closer]
    assert [2 * job.arrival_s for job in closer] == pytest.approx([job.arrival_s for job in plain])
    assert closer[0].request.estimate_s == pytest.approx(2 * plain[0].request.estimate_s)
    split = published_jobs("sit", 3, components=4)
    assert {job.request.components for job in split} == {(2,), (1, 1, 1, 1), (2, 2, 2, 2)}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"jobs": 0}, "jobs"),
        ({"interarrival_factor": -1.0}, "interarrival factor"),
        ({"estimate_factor": float("inf")}, "estimate factor"),
        ({"components": 0}, "components"),
    ],
)
def test_numbers_out_of_range_are_one_sentence(options, sentence):
    with pytest.raises(InvalidInput, match=f"{sentence}: must be positive"):
        published_jobs("sit", 1, **options)


def test_names_that_do_not_exist_are_one_sentence():
    with pytest.raises(UnknownName, match="workload 'W1'"):
        published_jobs("W1", 1)
    with pytest.raises(UnknownName, match="program 'ft'"):
        program_named("ft")
    with pytest.raises(InvalidInput, match="pattern: there is no 'star'"):
        steps_of("star", 1, 1.0, 1.0)


def test_users_are_at_a_quarter_of_the_nodes():
    users = drawn_users(2, [16, 8])
    assert Counter(user.cluster for user in users) == {0: 4, 1: 2}
    assert len({(user.cluster, user.node) for user in users}) == 6
    assert users == drawn_users(2, [16, 8])
    assert drawn_users(2, [16], share=0.0) == ()
    many = Counter(user.profile.name for user in drawn_users(1, [4000]))
    assert many["xwindows"] / 1000 == pytest.approx(0.65, abs=0.05)
    with pytest.raises(InvalidInput, match="share of the nodes lies from 0 to 1, not"):
        drawn_users(1, [16], share=1.5)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_a_user_takes_the_share_of_the_profile(profile):
    assert profile.burst_s / (profile.burst_s + profile.think_s) == pytest.approx(profile.processor_share)


def test_users_by_name():
    assert [(user.node, user.profile.name) for user in named_users("3:internet, 0:xwindows", 4)] == [
        (3, "internet"),
        (0, "xwindows"),
    ]
    for text, sentence in (
        ("4:internet", "there is no node 4 "),
        ("one:internet", "'one:internet' names no node"),
        ("-1:internet", "names no node"),
        ("²:internet", "names no node"),
        ("1:internet,1:xwindows", "node 1 has a user already"),
        ("1", "local user's profile ''"),
        ("1:games", "local user's profile 'games'"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            named_users(text, 4)


def test_a_list_of_jobs(tmp_path):
    lines = [
        {"id": 2, "arrival_s": 5.0, "tasks": 4, "program": "CG", "memory_mb": 33.0},
        {
            "id": 1, "arrival_s": 0.5, "tasks": 3, "pattern": "sweep", "steps": 7, "execution_s": 12.0,
            "processor_share": 0.5, "memory_mb": 0, "estimate_s": 20,
        },
    ]  # fmt: skip
    path = tmp_path / "jobs.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    first, second = read_shared_jobs(path)
    assert (first.id, first.tasks, first.steps.steps, first.request.estimate_s) == (1, 3, 7, 20)
    assert first.steps.compute_s == pytest.approx(12 / 7 / 2)
    assert second.request.memory_bytes == 33_000_000
    assert second.request.estimate_s is None
    assert second.steps.execution_s == pytest.approx(PROGRAMS["cg"].execution_s.of(4))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("", "holds no job"),
        ("{", "line 1: is no JSON object"),
        ('{"id": 1, "arrival_s": 0, "tasks": 2}', "line 1: pattern: is missing"),
        ('{"id": 1, "arrival_s": 0, "tasks": 0, "program": "cg"}', "line 1: tasks"),
        ('{"id": 1, "arrival_s": -1, "tasks": 2, "program": "cg"}', "line 1: arrival_s"),
        ('{"id": 1, "arrival_s": 0, "tasks": 2, "program": "ft"}', "line 1: .*'ft'"),
        ('{"id": 1, "arrival_s": 0, "tasks": 2, "program": "cg", "pattern": "star"}', "line 1: pattern"),
        ('{"id": 1, "arrival_s": 0, "tasks": 2, "program": "cg", "nodes": 3}', "line 1: unknown key 'nodes'"),
        ('{"id": 1, "arrival_s": 0, "tasks": 2, "program": "cg"}\n' * 2, "line 2: id: job 1 is listed twice"),
        ('{"id": 1, "arrival_s": 1e999, "tasks": 2, "program": "cg"}', "line 1"),
    ],
)
def test_a_line_that_is_no_job_is_one_sentence(tmp_path, line, sentence):
    path = tmp_path / "jobs.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(InvalidInput, match=sentence):
        read_shared_jobs(path)


def test_a_list_that_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_shared_jobs(tmp_path / "none.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b"\xe4\xff")
    with pytest.raises(InvalidInput, match="is not text in UTF-8"):
        read_shared_jobs(tmp_path / "latin.jsonl")


def test_jobs_that_come_too_seldom_are_refused_in_a_sentence():
    with pytest.raises(InvalidInput, match="interarrival factor: mean_s"):
        published_jobs("SIT", seed=1, interarrival_factor=1e6)
