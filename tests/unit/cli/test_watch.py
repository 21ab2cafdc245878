"""The screen and the lines of `testbed watch`."""

import io

import pytest
from rich.console import Console

from emulator.cli.durations import clock, duration
from emulator.cli.watch_lines import event_sentence, say_news
from emulator.cli.watch_screen import ASCII, UNICODE, screen
from emulator.model.job import JobState
from emulator.model.page_views import BackgroundNote, PageReason, RunNote, VerdictNote
from emulator.model.views import EventKind
from emulator.watch.following import Back, Began, Happened, Lost
from emulator.watch.moment import moment_of
from tests.unit.cli.test_foreign_text import HOSTILE
from tests.unit.watch.watched_runs import event, job, known_run


def shown(known, *, loss=None, width=100, height=40, signs=UNICODE, now_s=40.0) -> list[str]:
    """The lines of the screen, without the spaces at their ends."""
    console = Console(record=True, width=width, height=height, file=io.StringIO())
    console.print(screen(moment_of(known, now_s), loss, width, height, signs))
    return [line.rstrip() for line in console.export_text().splitlines()]


def busy_run():
    known = known_run()
    known.note_jobs(
        [
            job(1, JobState.RUNNING, ("east", 8), ("west", 4), placed_s=12.0, claimed_s=20.0, started_s=25.0),
            job(2, JobState.STARTING, ("west", 2)),
            job(3, JobState.QUEUED, components=(16, 8)),
            job(4, JobState.FINISHED, ("east", 4), placed_s=11.0, claimed_s=12.0, started_s=13.0, finished_s=33.0),
        ]
    )
    reason = PageReason(topic="host", sentence="tasks waited for a processor")
    known.note_fact(RunNote(jobs=8))
    known.note_fact(RunNote(verdict=VerdictNote(job=4, verdict="suspect", reasons=(reason,))))
    known.note_fact(RunNote(background=BackgroundNote(time_s=1.0, cluster="east", dummy=2, local=1)))
    return known


def test_a_screen_says_what_happens():
    assert shown(busy_run()) == [
        "t / two  run 3 w1  policy wf, queue placement",
        "emulated time 0:00:40   K 2   processors 17 of 24 in use   live",
        "███░░░░░░░░░░░░░░░░░░░░░░░░░░░  1 of 8 jobs ended   about 4 min 40 s left, emulated",
        "",
        "cluster                    █ co-allocated  ▒ claimed  ▓ local  ░ dummy  · idle  all",
        "east     ████████▓░░·····               8          0        1        2       5   16",
        "west     ████▒▒··                       4          2        0        0       2    8",
        "",
        "fidelity  ✓ phases   ? host (1 job)   ✓ links   – background   ✓ jobs",
        "  host: tasks waited for a processor",
        "",
        "1 job waits, in the order of arrival",
        "first: 3. It asks for 24 processors; only 7 are idle in all clusters.",
        "job  name   application  asks for        waited  tries",
        "  3  job-3  poisson      16+8 non-fixed  30.0 s      0",
        "",
        "1 job runs, 1 is placed",
        "job  name   state     clusters       waited     ran  verdict",
        "  2  job-2  starting  2 west         30.0 s       –",
        "  1  job-1  running   8 east+4 west  15.0 s  15.0 s",
        "  4  job-4  finished  4 east          3.0 s  20.0 s  ? suspect",
    ]


def test_signs_alone_tell_uses_and_verdicts_apart():
    for signs in (UNICODE, ASCII):
        assert len(set(signs.uses)) == len(signs.uses) == 5
        assert len(set(signs.verdicts)) == 4


def test_a_terminal_without_other_signs_gets_ascii():
    lines = shown(busy_run(), signs=ASCII)
    assert any("########%++....." in line for line in lines)
    assert any("? host (1 job)" in line for line in lines)


def test_without_a_recorder_the_background_is_that_of_others():
    known = known_run()
    lines = shown(known)
    assert any("▓ others" in line for line in lines)
    assert not any("dummy" in line for line in lines)
    assert "  Jobs are judged where a campaign or a measurement records them." in lines
    assert "No job waits." in lines
    assert "No job has been placed." in lines


def test_a_broker_that_does_not_answer_is_said_first():
    lines = shown(busy_run(), loss=(12.4, "The broker does not answer (refused)."))
    assert lines[1].endswith("no answer since 12 s; trying again")
    assert lines[3] == "The broker does not answer (refused)."


def test_a_cluster_that_does_not_answer_has_no_bar():
    known = busy_run()
    known.lost = frozenset({"west"})
    assert any(line.startswith("west     does not answer") for line in shown(known))


def test_a_run_that_has_ended_is_called_so():
    known = busy_run()
    known.note_event(event(EventKind.RUN_ENDED, time_s=50.0))
    lines = shown(known)
    assert lines[1].endswith("ended")
    assert "left" not in lines[2]


def crowded_run(jobs: int = 60):
    known = busy_run()
    known.note_jobs([job(number, JobState.QUEUED) for number in range(10, 10 + jobs)])
    known.note_jobs([job(number, JobState.RUNNING, ("east", 4), started_s=12.0) for number in range(100, 100 + jobs)])
    return known


@pytest.mark.parametrize(("width", "height"), [(100, 40), (80, 24), (200, 60), (132, 30)])
@pytest.mark.parametrize("loss", [None, (3.0, "The broker does not answer.")])
def test_a_screen_is_never_larger_than_the_terminal(width, height, loss):
    for known in (busy_run(), crowded_run()):
        lines = shown(known, loss=loss, width=width, height=height)
        assert len(lines) <= height
        assert max(len(line) for line in lines) <= width
    listed = [line for line in lines if "8 non-fixed" in line or "4+4 non-fixed" in line]
    assert f"and {61 - len(listed)} more" in lines


def test_a_large_terminal_is_made_use_of():
    assert len(shown(crowded_run(), height=50)) == 50


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_others_reaches_the_terminal_as_an_escape(text):
    known = known_run()
    hostile = job(1, JobState.QUEUED)
    hostile.specification.__dict__["name"] = f"name {text}"  # a broker of another kind may send anything
    ended = job(2, JobState.FAILED, (f"east {text}", 4), reason=f"because {text}")
    known.note_jobs([hostile, ended])
    reason = PageReason(topic="host", sentence=f"[bold]late[/] {text}")
    known.note_fact(RunNote(verdict=VerdictNote(job=2, verdict="suspect", reasons=(reason,))))
    console = Console(width=140, height=40, file=io.StringIO(), force_terminal=True, color_system=None)
    console.print(screen(moment_of(known, 40.0), (1.0, f"lost {text}"), 140, 40))
    written = console.file.getvalue()
    assert all(line.isprintable() for line in written.split("\n"))
    assert "[bold]late[/]" in written


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "–"), (0.0, "0.0 s"), (7.04, "7.0 s"), (83.9, "1 min 23 s"), (5_000.0, "1 h 23 min"), (90_000, "1 d 1 h")],
)
def test_durations_are_written_as_on_the_page(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.9, "0:00:00"), (3_723.5, "1:02:03"), (90_061.0, "1 d 1:01:01")])
def test_timestamps_are_written_as_on_the_page(seconds, text):
    assert clock(seconds) == text


@pytest.mark.parametrize(
    ("kind", "of", "detail", "sentence"),
    [
        (
            EventKind.SUBMITTED,
            job(1, JobState.QUEUED, request="fixed", clusters=("east", "west")),
            {},
            "job 1 job-1: submitted, asks for 4 east+4 west (poisson)",
        ),
        (
            EventKind.CLAIM_FAILED,
            job(1, JobState.CLAIMING),
            {"cluster": "west", "reason": "no room", "claiming_try": 2},
            "job 1 job-1: claiming try 2 failed at west: no room",
        ),
        (
            EventKind.FINISHED,
            job(1, JobState.FINISHED, started_s=30.0, finished_s=100.0),
            {},
            "job 1 job-1: finished, waited 20.0 s, ran 1 min 10 s",
        ),
        (EventKind.FAILED, job(1, JobState.FAILED, reason="It died."), {}, "job 1 job-1: failed: It died."),
        (EventKind.CANCELLED, job(1, JobState.CANCELLED), {}, "job 1 job-1: cancelled"),
        (EventKind.CLUSTER_LOST, None, {"cluster": "west", "reason": "gone"}, "cluster west is lost: gone"),
        (EventKind.DECISION, None, {}, ""),
        (EventKind.FILE_ARRIVED, job(1, JobState.CLAIMING), {}, ""),
    ],
)
def test_an_event_is_a_sentence_if_it_changes_a_job_or_a_cluster(kind, of, detail, sentence):
    assert event_sentence(event(kind, of, **detail)) == sentence


def test_jobs_are_said_on_standard_output_and_the_connection_on_standard_error(capsys):
    say_news(Began(known_run().run, 1, 2))
    say_news(Happened(event(EventKind.CANCELLED, job(1, JobState.CANCELLED, reason="a\x1b[2J\nb"))))
    say_news(Happened(event(EventKind.DECISION)))
    say_news(Lost("The broker \x1b[2J does not answer."))
    say_news(Back(12.3))
    written = capsys.readouterr()
    assert written.out.splitlines() == [
        "run 3 w1: policy wf, queue placement, K 2; 1 job waits, 2 placed or running",
        r"      30.0 s  job 1 job-1: cancelled: a\x1b[2J\nb",
    ]
    assert written.err.splitlines() == [
        r"testbed: The broker \x1b[2J does not answer. Trying again.",
        "testbed: the broker answers again, after 12 s.",
    ]


def test_without_a_testbed_there_is_nothing_to_watch(call):
    code, written, complaint = call("watch")
    assert (code, written) == (1, "")
    assert complaint == "testbed: No testbed called 'testbed' is running (bring one up with `testbed up`).\n"
