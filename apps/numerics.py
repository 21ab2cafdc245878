"""Sampled numerics: the choice of iterations that really compute, for jobs that are run for their time only.

Every phase is paced and every message is sent as with real numerics. Only the host's arithmetic is left out of most
iterations, which send the values that they have. So a job takes the same time, and its solution means nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

REAL: Final = "real"
SAMPLED: Final = "sampled"
NUMERICS: Final = (REAL, SAMPLED)

FIRST_ITERATIONS: Final = 10
EVERY: Final = 20
"""With sampled numerics the first `FIRST_ITERATIONS` compute, and after them one in `EVERY`."""

UNCHECKED: Final = ("error_max_norm", "error_l2_norm")
"""The entries of a record that compare the solution with the known one; sampled numerics have no solution."""


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
