"""An ensemble over processes: whole members while they evolve, the same part of all members while they are analysed.

Each process evolves its share of the members. For an analysis all processes exchange, so that each holds one part of
every member's state; it combines the members there and gives the analysed parts back (`apps.assimilation`). Needs the
standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.model.errors import InvalidInput

MEMBERS = 60
"""Members of the ensemble, as in the measurement study on DAS-2."""

DAYS = 20
"""Days that the ensemble evolves, as in that study."""

ANALYSIS_EVERY_DAYS = 10
"""Days from one analysis to the next, as in that study."""


@dataclass(frozen=True, slots=True)
class EnsembleShare:
    """The division of an ensemble of `members`, with `values` numbers in each state, over `processes`.

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
        """The number of members that a process evolves."""
        return self.members // self.processes

    @property
    def part_length(self) -> int:
        """The number of values of each member in a part."""
        return -(-self.values // self.processes)

    def members_of(self, rank: int) -> range:
        """Return the members that the process `rank` evolves."""
        return range(rank * self.members_each, (rank + 1) * self.members_each)

    def part_of(self, rank: int) -> slice:
        """Return the values of every member that the process `rank` combines in an analysis."""
        first = min(rank * self.part_length, self.values)
        return slice(first, min(first + self.part_length, self.values))
