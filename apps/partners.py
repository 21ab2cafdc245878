"""Who exchanges messages with whom in the steps of a parallel program, in outline: ranks, steps, and no messages.

The patterns are those of the NAS benchmarks that the 3DBackfilling paper runs: CG exchanges vectors with partners at
distances that are powers of two in turn (`pairs`), IS sends keys from all to all, MG exchanges borders with both
neighbours of a ring, and BT sweeps along a ring and back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Partners = tuple[tuple[int, ...], tuple[int, ...]]
"""The ranks that a task sends to in a step, and those that it receives from."""


def pairs(rank: int, step: int, tasks: int) -> Partners:
    """Return the partners at a distance that is the step's power of two."""
    distance = 1 << (step % (tasks - 1).bit_length())
    return ((rank + distance) % tasks,), ((rank - distance) % tasks,)


def all_to_all(rank: int, step: int, tasks: int) -> Partners:
    """Return all other tasks, the next rank first, so that not all send to the same task at once."""
    others = tuple((rank + distance) % tasks for distance in range(1, tasks))
    return others, others


def ring(rank: int, step: int, tasks: int) -> Partners:
    """Return both neighbours of a ring; in a ring of two they are one."""
    both = tuple(dict.fromkeys(((rank + 1) % tasks, (rank - 1) % tasks)))
    return both, both


def sweep(rank: int, step: int, tasks: int) -> Partners:
    """Return the next neighbour of a ring in even steps, the one before in odd ones."""
    after, before = ((rank + 1) % tasks,), ((rank - 1) % tasks,)
    return (before, after) if step % 2 else (after, before)


PATTERNS: Final[dict[str, Callable[[int, int, int], Partners]]] = {
    "pairs": pairs,
    "all-to-all": all_to_all,
    "ring": ring,
    "sweep": sweep,
}


def partners(pattern: str, rank: int, step: int, tasks: int) -> Partners:
    """Return the tasks that `rank` of `tasks` sends to and receives from in a step; none if it is the only task."""
    return PATTERNS[pattern](rank, step, tasks) if tasks > 1 else ((), ())


def pattern_period(pattern: str, tasks: int) -> int:
    """Return after how many steps the partners repeat."""
    if pattern == "pairs":
        return max(1, (tasks - 1).bit_length())
    return 2 if pattern == "sweep" else 1
