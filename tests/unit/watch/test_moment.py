"""What there is to show of a watched run."""

import pytest

from emulator.fidelity.topics import Topic
from emulator.model.job import JobSpecification, JobState
from emulator.model.page_views import BackgroundNote, CheckNote, PageReason, RunNote, VerdictNote
from emulator.model.views import ClusterView, EventKind, QueueEntryView
from emulator.watch.known import MOST_ENDED
from emulator.watch.moment import FITS, UNLISTED, ClusterUse, moment_of, why_it_waits
from tests.unit.watch.watched_runs import event, job, known_run


def entry(number: int, tries: int, *, request: str = "non-fixed") -> QueueEntryView:
    return QueueEntryView(
        position=1, job=number, run=3, name="job", application="poisson", request=request, components=(4, 4),
        processors=8, submitted_s=10.0, waited_s=5.0, placement_tries=tries,
    )  # fmt: skip


def reading(east: int, west: int, *, west_answers: bool = True) -> list[ClusterView]:
    return [
        ClusterView(name="east", nodes=8, processors=16, idle=east),
        ClusterView(name="west", nodes=4, processors=8, idle=west, reachable=west_answers),
    ]


def verdict(number: int, judged: str, *topics: str) -> RunNote:
    reasons = tuple(PageReason(topic=topic, sentence=f"about {topic}") for topic in topics)
    return RunNote(verdict=VerdictNote(job=number, verdict=judged, reasons=reasons))


def test_processors_are_executing_claimed_or_set_aside_by_the_state_of_their_job():
    known = known_run()
    known.note_jobs(
        [
            job(1, JobState.RUNNING, ("east", 4), ("west", 3)),
            job(2, JobState.STARTING, ("east", 2)),
            job(3, JobState.CLAIMING, ("west", 1), is_claimed=False),
            job(4, JobState.QUEUED),
            job(5, JobState.FINISHED, ("east", 8)),
        ]
    )
    east, west = moment_of(known, 40.0).clusters
    assert (east.executing, east.claimed, east.set_aside, east.idle) == (4, 2, 0, 10)
    assert (west.executing, west.claimed, west.set_aside, west.idle) == (3, 0, 1, 5)


def test_a_failed_claim_holds_nothing_although_its_event_shows_what_it_held():
    known = known_run()
    known.note_event(event(EventKind.CLAIM_FAILED, job(1, JobState.CLAIMING, ("east", 4))))
    east = moment_of(known, 40.0).clusters[0]
    assert (east.claimed, east.set_aside, east.idle) == (0, 4, 16)


def test_an_event_from_before_a_jobs_end_does_not_revive_it():
    known = known_run()
    known.note_jobs([job(1, JobState.FINISHED, ("east", 4))])
    known.note_event(event(EventKind.STARTED, job(1, JobState.RUNNING, ("east", 4))))
    known.note_event(event(EventKind.FINISHED, job(1, JobState.FINISHED, ("east", 4))))
    moment = moment_of(known, 40.0)
    assert (moment.active, moment.all_ended, len(moment.last_ended)) == ((), 1, 1)


def test_jobs_that_ended_are_counted_and_the_last_ones_kept():
    known = known_run()
    known.note_jobs([job(number, JobState.FAILED) for number in range(1, MOST_ENDED + 11)])
    moment = moment_of(known, 40.0)
    assert moment.ended == {JobState.FAILED: MOST_ENDED + 10}
    assert (moment.last_ended[0].id, moment.last_ended[-1].id) == (MOST_ENDED + 10, 11)


def test_others_hold_what_two_readings_in_a_row_say():
    known = known_run()
    known.note_jobs([job(1, JobState.RUNNING, ("east", 4))])
    known.note_clusters(reading(10, 8))  # 2 more than the job's
    assert [use.local for use in moment_of(known, 40.0).clusters] == [0, 0]
    known.note_clusters(reading(9, 8))
    assert [use.local for use in moment_of(known, 40.0).clusters] == [2, 0]
    known.note_clusters(reading(12, 0, west_answers=False))
    west = moment_of(known, 40.0).clusters[1]
    assert (west.answers, west.local) == (False, 0)


def test_the_recorders_background_replaces_what_was_worked_out():
    known = known_run()
    known.note_clusters(reading(10, 8))
    known.note_clusters(reading(10, 8))
    known.note_fact(RunNote(background=BackgroundNote(time_s=1.0, cluster="west", dummy=2, local=3)))
    known.note_clusters(reading(1, 1))
    assert [(use.dummy, use.local) for use in moment_of(known, 40.0).clusters] == [(0, 0), (2, 3)]


def test_the_queue_is_in_the_brokers_order_then_come_jobs_that_it_has_not_listed():
    known = known_run()
    known.note_jobs([job(number, JobState.QUEUED) for number in (1, 2, 3)] + [job(4, JobState.RUNNING)])
    known.note_status(known.run, (entry(2, 5), entry(4, 1), entry(1, 7)), 9)
    moment = moment_of(known, 40.0)
    assert [(waiting.job.id, waiting.tries) for waiting in moment.waiting] == [(2, 5), (1, 7), (3, 0)]
    assert (moment.waiting_in_all, moment.is_ordered) == (9, True)


@pytest.mark.parametrize(("request_kind", "why"), [("non-fixed", FITS), ("fixed", UNLISTED)])
def test_a_job_that_only_the_queue_knows_is_listed_and_may_be_the_first(request_kind, why):
    known = known_run()
    known.note_jobs([job(9, JobState.QUEUED), job(5, JobState.FINISHED)])
    known.note_status(known.run, (entry(2, 5, request=request_kind), entry(5, 1), entry(9, 0)), 4000)
    moment = moment_of(known, 40.0)
    first = moment.waiting[0].job
    assert [waiting.job.id for waiting in moment.waiting] == [2, 9]
    assert (first.specification.name, first.specification.components, first.submitted_s) == ("job", (4, 4), 10.0)
    assert moment.why_first_waits == why


def test_while_another_run_holds_the_testbed_the_queue_is_in_order_of_arrival():
    known = known_run()
    known.note_jobs([job(2, JobState.QUEUED), job(1, JobState.QUEUED)])
    known.note_status(known.run.model_copy(update={"id": 4}), (entry(9, 1),), 1)
    moment = moment_of(known, 40.0)
    assert ([waiting.job.id for waiting in moment.waiting], moment.is_ordered) == ([1, 2], False)


@pytest.mark.parametrize(("expected", "ended", "left_s"), [(None, 1, None), (4, 0, None), (4, 1, 120.0), (1, 1, 0.0)])
def test_what_is_left_follows_from_the_jobs_that_ended(expected, ended, left_s):
    known = known_run()
    known.note_jobs([job(number, JobState.FINISHED) for number in range(1, ended + 1)])
    if expected:
        known.note_fact(RunNote(jobs=expected))
    assert moment_of(known, 40.0).left_s == left_s


def lights(*facts: RunNote) -> dict[Topic, tuple[str, int]]:
    known = known_run()
    for fact in facts:
        known.note_fact(fact)
    return {light.topic: (light.verdict, light.jobs) for light in moment_of(known, 40.0).lights}


def test_without_a_verdict_nothing_is_judged():
    assert set(lights(RunNote(jobs=3)).values()) == {("", 0)}


def test_a_light_shows_the_worst_verdict_of_its_topic_and_its_jobs():
    shown = lights(
        verdict(1, "suspect", "host", "host"), verdict(2, "void", "host"), verdict(3, "valid"),
        verdict(3, "valid"), verdict(4, "suspect", "no topic of ours"),
    )  # fmt: skip
    assert shown == {
        Topic.PHASES: ("valid", 0),
        Topic.HOST: ("void", 2),
        Topic.LINKS: ("valid", 0),
        Topic.BACKGROUND: ("", 0),
        Topic.JOBS: ("suspect", 1),
    }


def test_a_check_of_the_wide_area_is_a_light_before_any_job_is_judged():
    assert lights(RunNote(check=CheckNote(moment="before", verdict="valid")))[Topic.LINKS] == ("valid", 0)
    reason = PageReason(topic="links", sentence="link check before: too slow")
    failed = RunNote(check=CheckNote(moment="before", verdict="suspect", reasons=(reason,)))
    assert lights(failed)[Topic.LINKS] == ("suspect", 0)


def test_a_background_is_not_judged_while_the_run_is_under_way():
    noted = RunNote(background=BackgroundNote(time_s=1.0, cluster="west", dummy=0, local=0))
    assert lights(verdict(1, "valid"), noted)[Topic.BACKGROUND] == ("", 0)
    assert lights(verdict(1, "void", "background"), noted)[Topic.BACKGROUND] == ("void", 1)


def uses(**idle: int) -> list[ClusterUse]:
    return [ClusterUse(name, 16, 16 - left, 0, 0, 0, 0, True) for name, left in idle.items()]


@pytest.mark.parametrize(
    ("asks", "idle", "why"),
    [
        ({"components": (8, 8)}, {"a": 4, "b": 3}, "It asks for 16 processors; only 7 are idle in all clusters."),
        ({"components": (8, 8)}, {"a": 8, "b": 8}, FITS),
        ({"components": (8, 8)}, {"a": 16, "b": 0}, FITS),
        (
            {"components": (8, 8), "request": "unordered"},
            {"a": 16, "b": 7},
            "A component of 8 fits nowhere beside the others (it asks for 8+8); a has most idle: 16.",
        ),
        (
            {"components": (2, 8), "request": "unordered"},
            {"a": 7, "b": 7},
            "A component of 8 fits nowhere beside the others (it asks for 2+8); a has most idle: 7.",
        ),
        ({"components": (9,)}, {"a": 8, "b": 4}, "Its 9 processors fit into no cluster; a has most idle: 8."),
        (
            {"components": (9,), "request": "total"},
            {"a": 8, "b": 4},
            "Its 9 processors fit into no cluster; a has most idle: 8.",
        ),
        ({"components": (9,), "request": "flexible"}, {"a": 8, "b": 4}, FITS),
        (
            {"components": (4, 4), "request": "fixed", "clusters": ("b", "b")},
            {"a": 16, "b": 7},
            "It asks for 8 processors of b, where 7 are idle.",
        ),
        ({"components": (4, 4), "request": "fixed", "clusters": ("b", "a")}, {"a": 4, "b": 7}, FITS),
        ({"components": (1,)}, {"a": 0}, "It asks for 1 processor; only 0 are idle in all clusters."),
    ],
)
def test_why_a_job_waits_is_said_by_idle_processors(asks, idle, why):
    assert why_it_waits(JobSpecification(application="poisson", **asks), uses(**idle)) == why
