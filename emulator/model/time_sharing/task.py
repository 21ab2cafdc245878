"""A task of a shared processor, and which of two tasks has it first."""

from __future__ import annotations

from typing import Final, final

from emulator.model.compilation import mypyc_attr

WAITING: Final = 0
COMPUTING: Final = 1
POLLING: Final = 2


@mypyc_attr(acyclic=True)
@final
class Task:
    """A task on this processor: what it wants, what it may still use, and what it has had."""

    __slots__ = ("boost", "counter_s", "given_s", "id", "last", "left_s", "local", "state", "weight")

    def __init__(self, id: int, local: bool, weight: float, counter_s: float) -> None:
        self.id = id
        self.local = local
        self.weight = weight
        self.counter_s = counter_s
        self.state: int = WAITING
        self.left_s: float = 0.0
        self.boost: int = 0
        self.last: int = 0
        self.given_s: float = 0.0


def comes_before(one: Task, other: Task) -> bool:
    """Return whether `one` is next: the first boosted task, else that with the larger counter or the longer wait."""
    if one.boost > 0 or other.boost > 0:
        return one.boost > 0 and (other.boost == 0 or one.boost < other.boost)
    if one.counter_s != other.counter_s:
        return one.counter_s > other.counter_s
    return one.last < other.last
