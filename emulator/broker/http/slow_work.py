"""Threads for requests that may wait for clusters or for a policy's process, apart from those of all other requests.

However many of them wait, the rest of the interface answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

SLOW_AT_ONCE = 20
"""Most such requests that are worked on at once."""

Answer = TypeVar("Answer")


class SlowWork:
    """A limited number of threads."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(SLOW_AT_ONCE)

    async def __call__(self, work: Callable[[], Answer]) -> Answer:
        """Do `work` in a thread, once one is free."""
        return await to_thread.run_sync(work, limiter=self._limiter)
