"""Sampled numerics: which iterations compute really, where a job is run for its time and not for its solution.

Every phase is paced and every message is sent as ever. Only the host's arithmetic is left out of most iterations, which
then pass on what they have. So the time of a job is as with real numerics, and its solution means nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

REAL: Final = "real"
SAMPLED: Final = "sampled"
NUMERICS: Final = (REAL, SAMPLED)

FIRST_ITERATIONS: Final = 10
EVERY: Final = 20
"""With sampled numerics the first iterations compute, and after them every so manieth."""

UNCHECKED: Final = ("error_max_norm", "error_l2_norm")
"""What a record says of a solution, which sampled numerics have none of."""


def computes(iteration: int) -> bool:
    """Return whether an iteration, counted from 0, computes really under sampled numerics."""
    return iteration < FIRST_ITERATIONS or iteration % EVERY == 0


class SampledResults:
    """The last result of each kernel, which stands for those of iterations that do not compute."""

    def __init__(self) -> None:
        self._last: dict[Callable[[], Any], Any] = {}

    def has(self, update: Callable[[], Any]) -> bool:
        """Return whether that kernel has computed yet."""
        return update in self._last

    def last(self, update: Callable[[], Any]) -> Any:
        """Return what that kernel computed last."""
        return self._last[update]

    def note(self, update: Callable[[], Any], result: Any) -> None:
        """Take note of what a kernel computed."""
        self._last[update] = result
