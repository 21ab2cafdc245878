"""The names of policies and disciplines: the list that the command line shows is that of the registry."""

from __future__ import annotations

import pytest

from emulator.model.errors import InvalidInput
from emulator.model.scheduling import Scanning
from emulator.policies.factory import check_live, discipline_scanned
from emulator.policies.names import ON_ONE_CLUSTER, POLICIES, QUEUES, policy_name, queue_name
from emulator.policies.registry import (
    PLACEMENT_POLICIES,
    QUEUE_DISCIPLINES,
    default_policy,
    placement_policy,
    queue_discipline,
)


def test_every_policy_and_discipline_has_a_name_and_a_line():
    assert list(POLICIES) == list(PLACEMENT_POLICIES)
    assert list(QUEUES) == list(QUEUE_DISCIPLINES)
    assert set(QUEUES) > ON_ONE_CLUSTER


def test_capital_letters_do_not_count():
    assert type(placement_policy("WF-Distinct")) is type(placement_policy("wf-distinct"))
    assert type(queue_discipline("LS-DO", Scanning())) is type(queue_discipline("ls-do", Scanning()))
    assert default_policy("Placement") == "wf"
    check_live("GS", "Wf", {}, clusters=4)
    check_live("SC", "wf", {}, clusters=1)
    with pytest.raises(InvalidInput, match="'sc' is live only on a topology of one cluster, and here are 2"):
        check_live("SC", "wf", {}, clusters=2)
    with pytest.raises(InvalidInput, match="never scanned"):
        discipline_scanned("GS", Scanning(adaptive=True))


def test_a_class_of_a_user_keeps_its_name():
    assert policy_name("Mine.py:Mine") == "Mine.py:Mine"
    assert queue_name("Elsewhere") == "Elsewhere"
