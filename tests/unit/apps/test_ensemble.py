"""An ensemble over processes: who has which members, and that exchanging parts and back loses and mixes nothing."""

import numpy as np
import pytest

from apps.assimilation import pack_states, unpack_parts, unpack_states
from apps.ensemble import EnsembleShare
from emulator.model.errors import InvalidInput


@pytest.mark.parametrize(("members", "processes"), [(60, 1), (60, 12), (60, 15), (60, 20), (60, 30), (60, 60), (6, 3)])
def test_every_member_and_every_value_has_one_process(members: int, processes: int) -> None:
    share = EnsembleShare(members, 101, processes)
    assert [member for rank in range(processes) for member in share.members_of(rank)] == list(range(members))
    values = np.arange(101)
    assert np.array_equal(np.concatenate([values[share.part_of(rank)] for rank in range(processes)]), values)
    assert max(len(values[share.part_of(rank)]) for rank in range(processes)) <= share.part_length


def test_more_processes_than_values_leave_some_without() -> None:
    share = EnsembleShare(8, 3, 8)
    assert [len(range(3)[share.part_of(rank)]) for rank in range(8)] == [1, 1, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(("members", "processes"), [(60, 8), (60, 7), (60, 61), (60, 120), (7, 2)])
def test_processes_that_do_not_divide_the_members_are_refused(members: int, processes: int) -> None:
    with pytest.raises(InvalidInput, match=f"{members} members cannot be divided over {processes} processes"):
        EnsembleShare(members, 10, processes)


def test_the_sentence_names_the_numbers_of_processes_that_would_do() -> None:
    with pytest.raises(InvalidInput, match=r"divides them \(1, 2, 3, 4, 6, 12\)"):
        EnsembleShare(12, 10, 5)


@pytest.mark.parametrize(
    ("members", "values", "processes"), [(6, 10, 1), (6, 10, 3), (6, 7, 6), (60, 48, 20), (4, 1, 2)]
)
def test_parts_hold_all_members_in_order_and_come_back_as_they_went(members: int, values: int, processes: int) -> None:
    share = EnsembleShare(members, values, processes)
    ensemble = np.arange(float(members * values)).reshape(members, values) + 1.0
    packed = [pack_states(share, ensemble[list(share.members_of(rank))]) for rank in range(processes)]

    parts = [
        unpack_parts(share, np.stack([packed[sender][rank] for sender in range(processes)]))
        for rank in range(processes)
    ]
    for rank in range(processes):
        mine = ensemble[:, share.part_of(rank)]
        assert np.array_equal(parts[rank][:, : mine.shape[1]], mine)

    given_back = [part.reshape(processes, -1) for part in parts]
    for rank in range(processes):
        states = unpack_states(share, np.stack([given_back[sender][rank] for sender in range(processes)]))
        assert np.array_equal(states, ensemble[list(share.members_of(rank))])
