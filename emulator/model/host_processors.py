"""The processors of the host that this process may use."""

from __future__ import annotations

import os


def usable_processors() -> int:
    """Return how many processors this process may use; those of the host where it cannot know, as on macOS."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
