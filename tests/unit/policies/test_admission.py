"""Admission: a job names its queue where the discipline needs it, and is of a kind that somebody places."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.job import JobSpecification
from emulator.model.rules import StatedRules
from emulator.policies.admission import Admitting
from emulator.policies.placement.worst_fit import WorstFit

MINI = topology_named("mini")


def specification(*components: int, queue: str | None = None) -> JobSpecification:
    return JobSpecification(application="poisson", components=components, queue=queue)


@pytest.mark.parametrize("components", [(4,), (4, 4)])
def test_a_discipline_with_local_queues_only_needs_no_other_statement(components):
    asked = SimpleNamespace(discipline=SimpleNamespace(has_local_queues_only=True), policy=WorstFit())
    admitting = Admitting(MINI, "mine.py:Mine", "wf", StatedRules(), asked=asked)
    assert admitting.admit(1, specification(*components, queue="delft")).queue == 1
    with pytest.raises(InvalidInput, match="has a queue per cluster, so name the one"):
        admitting.admit(1, specification(*components))


def test_single_component_jobs_of_local_queues_are_of_any_kind():
    admitting = Admitting(MINI, "gp", "fcm", StatedRules())
    assert admitting.admit(1, specification(4, queue="delft")).request.components == (4,)
    with pytest.raises(InvalidInput, match="'fcm' does not place"):
        admitting.admit(1, specification(4, 4))
    with pytest.raises(InvalidInput, match="'fcm' does not place"):
        Admitting(MINI, "gs", "fcm", StatedRules()).admit(1, specification(4))
