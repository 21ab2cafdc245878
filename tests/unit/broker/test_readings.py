"""Readings: numbered rounds, a bounded wait, an age after which a cluster is silent, and what our own claims change."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from emulator.broker.decision import system_state
from emulator.broker.readings import (
    MOST_AGE_HOST_S,
    REPEAT_FAILED_HOST_S,
    REPEAT_HOST_S,
    WAIT_HOST_S,
    Reading,
    Readings,
)
from emulator.broker.state.jobs import LiveJob
from emulator.clusters.protocol import Occupancy
from emulator.model.documents import parse_document
from emulator.model.job import JobSpecification, JobState, Timeline
from emulator.model.placement import Component, Placement
from emulator.model.topology import Topology
from tests.unit.broker.broker_setup import TOPOLOGY
from tests.unit.broker.scripted_cluster import ScriptedCluster

EAST, WEST = 0, 1


class Scene:
    """Readings of two clusters whose threads never start: the test answers, at a time that it sets."""

    def __init__(self) -> None:
        self.now_host_s = 100.0
        self.readings = Readings([ScriptedCluster("east", 8), ScriptedCluster("west", 8)], lambda: self.now_host_s)
        self.readings.find("east")
        self.readings.find("west")
        self.round = self.readings.ask()
        for index in (EAST, WEST):
            self.answer(index, self.round)

    def answer(self, index: int, number: int, idle: int | None = 8) -> None:
        occupancy = None if idle is None else Occupancy(4, 8, idle)
        self.readings.note(index, Reading(number, self.now_host_s, occupancy))

    def idle(self) -> list[int | None]:
        return [
            reading.occupancy.idle if reading and reading.occupancy else None for reading in self.readings.freshest()
        ]

    def reachable(self) -> list[bool]:
        return [each.reachable for each in self.readings.snapshot]


@pytest.fixture(autouse=True)
def every_reading_in_time() -> None:
    """Leave the limits as they are: the test sets the time itself."""


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_round_is_complete_when_every_cluster_has_answered_it_or_a_later_one(scene):
    number = scene.readings.ask()
    scene.answer(EAST, number)
    assert scene.readings.host_until_complete_s(number) == pytest.approx(WAIT_HOST_S)
    later = scene.readings.ask()
    scene.answer(WEST, later)
    assert scene.readings.host_until_complete_s(number) == 0
    assert scene.readings.host_until_complete_s(later) > 0


def test_an_answer_to_an_earlier_question_does_not_complete_a_round(scene):
    earlier, number = scene.readings.ask(), scene.readings.ask()
    scene.answer(EAST, number)
    scene.answer(WEST, earlier)
    assert scene.readings.host_until_complete_s(earlier) == 0
    assert scene.readings.host_until_complete_s(number) > 0


def test_a_cluster_that_hangs_is_waited_for_once(scene):
    first = scene.readings.ask()
    scene.answer(EAST, first)
    scene.now_host_s += WAIT_HOST_S
    assert scene.readings.host_until_complete_s(first) == 0
    second = scene.readings.ask()
    scene.answer(EAST, second)
    assert scene.readings.host_until_complete_s(second) == 0


def test_a_reading_is_used_until_it_is_too_old(scene):
    scene.now_host_s += MOST_AGE_HOST_S
    assert scene.idle() == [8, 8]
    scene.now_host_s += 0.01
    scene.answer(WEST, scene.readings.ask(), idle=3)
    assert scene.idle() == [None, 3]


def test_a_cluster_that_owes_an_answer_for_too_long_is_silent_until_it_answers(scene):
    number = scene.readings.ask()
    scene.answer(EAST, number)
    scene.now_host_s += MOST_AGE_HOST_S - 0.01
    assert scene.readings.changes() == ([], [])
    scene.now_host_s += 0.01
    assert scene.readings.changes() == (["west"], [])
    assert (scene.readings.silent, scene.reachable()) == (["west"], [True, False])
    assert scene.readings.changes() == ([], [])
    assert scene.readings.host_until_due_s() > 0
    scene.answer(WEST, number)
    assert scene.readings.host_until_due_s() == 0
    assert scene.readings.changes() == ([], ["west"])
    assert (scene.readings.silent, scene.reachable()) == ([], [True, True])


def test_a_cluster_that_was_not_asked_is_not_silent(scene):
    scene.now_host_s += 10 * MOST_AGE_HOST_S
    assert scene.readings.changes() == ([], [])


def test_a_failed_reading_is_no_idle_processor_and_is_repeated_soon(scene):
    scene.answer(WEST, scene.readings.ask(), idle=None)
    assert scene.idle()[WEST] is None
    assert scene.readings.host_until_due_s() == pytest.approx(REPEAT_FAILED_HOST_S)
    scene.now_host_s += REPEAT_FAILED_HOST_S
    before = scene.readings._clusters[WEST].asked
    scene.readings.repeat_if_due()
    repeated = scene.readings._clusters[WEST].asked
    assert repeated > before
    scene.answer(WEST, repeated, idle=5)
    assert scene.idle()[WEST] == 5


def test_a_cluster_that_keeps_failing_becomes_silent(scene):
    scene.answer(WEST, scene.readings.ask(), idle=None)
    scene.answer(EAST, scene.readings._round)
    scene.now_host_s += MOST_AGE_HOST_S
    scene.answer(WEST, scene.readings.ask(), idle=None)
    assert scene.readings.changes() == (["west"], [])


def test_clusters_are_asked_now_and_then_even_if_nothing_is_decided(scene):
    assert scene.readings.host_until_due_s() == pytest.approx(REPEAT_HOST_S)
    scene.now_host_s += REPEAT_HOST_S
    scene.readings.repeat_if_due()
    assert all(cluster.asked > scene.round for cluster in scene.readings._clusters)


def test_a_lost_cluster_is_neither_asked_nor_waited_for_nor_silent(scene):
    scene.readings.lose("west")
    asked = scene.readings._clusters[WEST].asked
    number = scene.readings.ask()
    scene.answer(EAST, number)
    assert scene.readings._clusters[WEST].asked == asked
    assert scene.readings.host_until_complete_s(number) == 0
    scene.answer(WEST, number)
    assert scene.idle() == [8, None]
    scene.now_host_s += 10 * MOST_AGE_HOST_S
    assert scene.readings.changes() == ([], [])
    scene.readings.find("west")
    assert scene.readings._clusters[WEST].asked > asked


@dataclass
class Case:
    name: str
    claimed: dict[str, tuple[str, float]]
    grants: frozenset[tuple[str, str]]
    idle: tuple[int, int]


@pytest.mark.parametrize(
    "case",
    [
        Case("not granted", {}, frozenset(), (2, 4)),
        Case("granted before the question", {"east": ("7", 1.0)}, frozenset({("east", "7")}), (4, 4)),
        Case("granted since the question", {"east": ("7", 1.0)}, frozenset(), (2, 4)),
        Case("granted again since the question", {"east": ("8", 1.0)}, frozenset({("east", "7")}), (2, 4)),
        Case("the same number elsewhere", {"east": ("7", 1.0)}, frozenset({("west", "7")}), (2, 4)),
    ],
    ids=lambda case: case.name,
)
def test_processors_of_a_job_are_taken_off_a_reading_that_may_not_know_them(case):
    topology = parse_document(TOPOLOGY, Topology, source="two")
    specification = JobSpecification(application="poisson", components=(4, 2))
    job = LiveJob(1, 0, specification, specification.request_in(topology), Timeline(submitted_s=0.0))
    job.placement, job.state = Placement((Component(EAST, 4), Component(WEST, 2))), JobState.CLAIMING
    job.claimed = case.claimed
    readings = [Reading(1, 0.0, Occupancy(4, 8, 6), case.grants)] * 2
    assert system_state(readings, [job], topology, 0.0).idle == case.idle


def test_of_a_partition_larger_than_the_topology_says_jobs_hold_no_more_than_that():
    topology = parse_document(TOPOLOGY, Topology, source="two")
    specification = JobSpecification(application="poisson", components=(6,))
    job = LiveJob(1, 0, specification, specification.request_in(topology), Timeline(submitted_s=0.0))
    job.placement, job.state = Placement((Component(EAST, 6),)), JobState.RUNNING
    job.claimed = {"east": ("7", 1.0)}
    knowing = Reading(1, 0.0, Occupancy(100, 8, 8), frozenset({("east", "7")}))
    assert system_state([knowing, knowing], [job], topology, 0.0).idle == (2, 8)
