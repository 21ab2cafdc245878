"""Checked content: what was sent is recognised, anything else is counted."""

from itertools import permutations

import numpy as np
import pytest

from apps.content import CheckedMessages, CheckedSum


def pair(length: int = 3) -> tuple[CheckedMessages, CheckedMessages]:
    """Ranks 1 and 2 of 4: rank 1 sends to 2 and 3, rank 2 receives from 1 and 0."""
    return CheckedMessages(1, 4, [2, 3], [], length), CheckedMessages(2, 4, [], [1, 0], length)


@pytest.mark.parametrize("length", [1, 3, 1000])
def test_what_was_sent_is_recognised(length: int) -> None:
    sender, receiver = pair(length)
    third = CheckedMessages(0, 4, [2], [], length)
    for iteration in (1, 2, 65_520, 65_521, 10**9):
        sender.fill(iteration)
        third.fill(iteration)
        receiver.incoming[:] = sender.outgoing[0], third.outgoing[0]
        receiver.check(iteration)
    assert receiver.mistaken == 0


@pytest.mark.parametrize("length", [1, 3])
def test_messages_to_another_from_another_or_of_another_iteration_are_seen(length: int) -> None:
    sender, receiver = pair(length)
    third = CheckedMessages(0, 4, [2], [], length)
    sender.fill(7)
    third.fill(7)
    receiver.incoming[:] = sender.outgoing[1], third.outgoing[0]
    receiver.check(7)
    assert receiver.mistaken == 1
    receiver.incoming[:] = third.outgoing[0], sender.outgoing[0]
    receiver.check(7)
    assert receiver.mistaken == 3
    receiver.incoming[:] = sender.outgoing[0], third.outgoing[0]
    receiver.check(8)
    assert receiver.mistaken == 5


@pytest.mark.parametrize("wrong", [np.nan, 0.0, np.inf])
def test_one_wrong_value_is_seen(wrong: float) -> None:
    sender, receiver = pair()
    third = CheckedMessages(0, 4, [2], [], 3)
    sender.fill(1)
    third.fill(1)
    receiver.incoming[:] = sender.outgoing[0], third.outgoing[0]
    receiver.incoming[0, 2] = wrong
    receiver.check(1)
    assert receiver.mistaken == 1


def test_no_two_messages_of_nearby_iterations_share_a_value() -> None:
    size, length, iterations = 5, 4, 6
    seen: set[float] = set()
    for sender, receiver in permutations(range(size), 2):
        messages = CheckedMessages(sender, size, [receiver], [], length)
        for iteration in range(iterations):
            messages.fill(iteration)
            seen.update(messages.outgoing.ravel().tolist())
    assert len(seen) == size * (size - 1) * iterations * length


def test_a_right_sum_is_recognised_and_a_wrong_one_seen() -> None:
    ranks = [CheckedSum(rank, 6, 5) for rank in range(6)]
    for iteration in (1, 65_522):
        for rank in ranks:
            rank.fill(iteration)
        total = sum((rank.given for rank in ranks), np.zeros(5))
        ranks[0].check(iteration, total)
        assert ranks[0].mistaken == 0
        ranks[1].check(iteration, total - ranks[3].given)
        ranks[2].check(iteration + 1, total)
    assert (ranks[1].mistaken, ranks[2].mistaken) == (2, 2)
