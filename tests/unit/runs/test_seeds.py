"""What the seeds of a campaign draw: jobs, or only what a list of jobs leaves open, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.scheduling import Scanning
from emulator.policies.names import NODE_QUEUES, QUEUES
from emulator.policies.registry import queue_discipline
from emulator.policies.traits import traits_of_queue
from emulator.runs.seeds import JOBS, drawn_by_seed, same_jobs_in_words
from tests.unit.workloads.seed_lists import campaign_with_a_list, campaign_with_lists, write_list
from workloads.campaign import campaign_named

MINI = topology_named("mini")
LISTED: dict[str, Any] = {"job_list": {"file": "jobs.jsonl"}, "listed": [{"arrival_s": 0}]}


@pytest.mark.parametrize(
    ("workload", "queue", "drawn"),
    [
        ({}, "placement", (JOBS,)),
        ({"job_list": None, "background": {"band": [0.1, 0.2]}}, "placement", (JOBS,)),
        ({**LISTED, "job_list": {"file": "jobs-{seed}.jsonl"}}, "placement", (JOBS,)),
        (LISTED, "placement", ()),
        (LISTED, "just-first", ()),
        ({**LISTED, "background": {"band": [0.1, 0.2]}}, "placement", ("the background load",)),
        ({**LISTED, "input_files": {"replicas": [1]}}, "gs", ("input files",)),
        (LISTED, "ls-or", ("the queues of jobs",)),
        ({**LISTED, "listed": [{"arrival_s": 0, "queue": 2}]}, "ls-or", ()),
        ({**LISTED, "listed": [{"arrival_s": 0, "queue": 2}]}, "lp-rd", ("choices of the queue",)),
        (LISTED, "mine.py:Mine", ("choices of the queue",)),
        (LISTED, "gp-of-mine.py:Mine", ("choices of the queue",)),
        ({"digest": "0123", "file_kind": "log"}, "ls-or", ("the queues of jobs",)),
        ({"digest": "0123", "file_kind": "log"}, "gs", ()),
        ({"digest": "0123", "file_kind": "list"}, "ls-or", ()),
        # An older record does not say what the digest is of.
        ({"digest": "0123"}, "gs", (JOBS,)),
    ],
)
def test_a_seed_draws_what_the_record_leaves_open(workload, queue, drawn):
    assert drawn_by_seed(workload, queue, MINI) == drawn


@pytest.mark.parametrize("queue", [*QUEUES, *NODE_QUEUES])
def test_queues_of_jobs_are_drawn_under_the_disciplines_with_a_queue_for_each_cluster(queue):
    traits = traits_of_queue(queue_discipline(queue, Scanning()))
    assert ("the queues of jobs" in drawn_by_seed(LISTED, queue, MINI)) is traits.has_queue_per_cluster


def test_a_campaign_says_the_same_of_itself(tmp_path):
    write_list(tmp_path / "jobs.jsonl", jobs=3)
    one = campaign_named(str(campaign_with_a_list(tmp_path)), seed=1)
    several = campaign_named(str(campaign_with_lists(tmp_path, (1,))), seed=1)
    campaigns = (one, several, campaign_named("first"))
    found = [drawn_by_seed(each.model_dump(mode="json"), each.queue, MINI) for each in campaigns]
    assert found == [(), (JOBS,), (JOBS,)]


def test_what_is_drawn_is_said_in_a_sentence_only_if_it_is_not_the_jobs():
    assert same_jobs_in_words("mine", (JOBS,)) == ""
    assert same_jobs_in_words("mine", ("input files", "local users")) == (
        "The jobs of mine are the same with every seed, which draws only input files and local users."
    )
    assert same_jobs_in_words("mine", ()).startswith("Nothing in mine depends on the seed: its runs are repeats of one")
