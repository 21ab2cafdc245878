"""The fault bench finds what is wrong in the books, and nothing where all is right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.model.job import JobSpecification, JobState
from emulator.model.views import ComponentView, EventKind, EventView, JobView
from tests.bench.faults.books import Began, Books, Site, began_of, errors

STATE_OF = {JobState.FINISHED: EventKind.FINISHED, JobState.FAILED: EventKind.FAILED}


def job(number: int, state: JobState = JobState.FINISHED, **placed: int) -> JobView:
    sizes = tuple(placed.values()) or (1,)
    return JobView(
        id=number,
        run=0,
        specification=JobSpecification(kind="plain", command=("sleep", "1"), components=sizes),
        state=state,
        submitted_s=0.0,
        components=tuple(ComponentView(cluster=cluster, processors=size) for cluster, size in placed.items()),
    )


def ending(sequence: int, view: JobView) -> EventView:
    return EventView(
        sequence=sequence, run=0, kind=STATE_OF[view.state], time_s=1.0, host_moment_s=1.0, job=view, detail={}
    )


def books() -> Books:
    """Three jobs: one finished over two clusters, one failed before it ran, one failed while it ran."""
    jobs = [job(1, east=2, west=1), job(2, JobState.FAILED), job(3, JobState.FAILED, east=2)]
    return Books(
        accepted={"a": 1, "b": 2, "c": 3},
        jobs=jobs,
        events=[ending(4 + view.id, view) for view in jobs],
        began=[Began(1, "east", 0), Began(1, "east", 1), Began(1, "west", 0), Began(3, "east", 1)],
        sites={"east": Site((), 8, 8, ()), "west": Site((), 8, 8, ())},
    )


def test_nothing_is_wrong_in_books_that_are_right():
    assert errors(books()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda right: {"jobs": right.jobs[1:]}, "Job 1, accepted under 'a', is listed 0 times"),
        (lambda right: {"accepted": {"a": 1, "b": 2}}, "Job 3 is listed and was never accepted"),
        (lambda right: {"accepted": {**right.accepted, "d": 1}}, "more than one submission"),
        (lambda right: {"events": right.events[1:]}, "Job 1 is finished, and its endings are: none"),
        (
            lambda right: {"events": [*right.events, ending(9, job(1, JobState.FAILED))]},
            "its endings are: finished, failed",
        ),
        (lambda right: {"events": right.events[::-1]}, "order of their numbers"),
        (lambda right: {"began": [*right.began, Began(1, "west", 0)]}, "Process 0 of job 1 began 2 times in west"),
        (lambda right: {"began": right.began[1:]}, "its processes began as {'east': 1, 'west': 1}"),
        (lambda right: {"began": [*right.began, Began(2, "east", 0)]}, "Job 2 ran in east, where it was not placed"),
        (lambda right: {"began": [*right.began, Began(7, "east", 0)]}, "Job 7 ran and is not listed"),
        (lambda right: {"sites": {"east": Site(("17 t.0-3.1-east",), 8, 8, ())}}, "Slurm of east still holds: 17"),
        (lambda right: {"sites": {"east": Site((), 8, 6, ())}}, "Only 6 of 8 processors of east are idle"),
        (lambda right: {"sites": {"east": Site((), 8, 8, ("99 bash",))}}, "Processes are left in east: 99 bash"),
        (lambda right: {"wrong_links": ["The link is slow."]}, "The link is slow."),
    ],
)
def test_each_thing_that_is_wrong_is_said(change, said):
    found = errors(replace(books(), **change(books())))
    assert any(said in sentence for sentence in found), found


def test_what_processes_wrote_is_read_and_nothing_else():
    assert began_of(["0-17 3", "4-5 0"], "east") == [Began(17, "east", 3), Began(5, "east", 0)]
    for line in ("0-17", "0-17 x", "017 3", "0-17 3 4"):
        with pytest.raises(ValueError):  # noqa: PT011
            began_of([line], "east")
