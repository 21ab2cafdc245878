"""An ensemble over processes: whole members while they evolve, the same part of all members while they are analysed.

Each process evolves its share of the members. For an analysis all processes exchange, so that each holds one part of
every member's state; it combines the members there and gives the analysed parts back. Only what the members say the
observations are is needed in one place, by process 0, which finds the weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apps.collectives import Collectives
from emulator.model.errors import InvalidInput

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EnsembleShare:
    """How an ensemble of `members`, with `values` numbers in each state, is divided over `processes`.

    Members go to processes in equal consecutive blocks. Parts of a state are of equal length as well; the last ones may
    hold less than their length, or nothing.

    Raises:
        InvalidInput: if the processes do not divide the members.
    """

    members: int
    values: int
    processes: int

    def __post_init__(self) -> None:
        if self.members % self.processes:
            fitting = [count for count in range(1, self.members + 1) if self.members % count == 0]
            raise InvalidInput(
                f"{self.members} members cannot be divided over {self.processes} processes: use a number of processes"
                f" that divides them ({', '.join(str(count) for count in fitting)})."
            )

    @property
    def members_each(self) -> int:
        """How many members a process evolves."""
        return self.members // self.processes

    @property
    def part_length(self) -> int:
        """How many values of each member are in a part."""
        return -(-self.values // self.processes)

    def members_of(self, rank: int) -> range:
        """The members that the process evolves."""
        return range(rank * self.members_each, (rank + 1) * self.members_each)

    def part_of(self, rank: int) -> slice:
        """The values of every member that the process combines in an analysis."""
        first = min(rank * self.part_length, self.values)
        return slice(first, min(first + self.part_length, self.values))

    def packed(self, states: Values) -> Values:
        """A process's whole states (a row each) as a row for each process: its part of these members, padded."""
        padded = np.zeros((len(states), self.processes * self.part_length))
        padded[:, : self.values] = states
        parts = padded.reshape(len(states), self.processes, self.part_length).swapaxes(0, 1)
        return np.ascontiguousarray(parts).reshape(self.processes, -1)

    def parts(self, received: Values) -> Values:
        """What all processes packed for this one: a row for each member of the ensemble, in order."""
        return received.reshape(self.members, self.part_length)

    def unpacked(self, received: Values) -> Values:
        """The whole states (a row each) of a process's members, from a row of their parts from each process."""
        parts = received.reshape(self.processes, -1, self.part_length).swapaxes(0, 1)
        return parts.reshape(parts.shape[0], -1)[:, : self.values]


def exchange_for_parts(share: EnsembleShare, collectives: Collectives, states: Values) -> Values:
    """Gives away this process's whole states for its part of all members' states, a row for each member."""
    return share.parts(collectives.all_to_all(share.packed(states)))


def exchange_for_states(share: EnsembleShare, collectives: Collectives, parts: Values) -> Values:
    """Gives this process's part of all members' states back for its own members' whole states."""
    return share.unpacked(collectives.all_to_all(parts.reshape(share.processes, -1)))
