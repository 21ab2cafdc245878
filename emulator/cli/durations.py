"""Durations and timestamps as the live page writes them. All of them are emulated seconds."""

from __future__ import annotations

MISSING = "–"
"""What stands for a value that is not known."""


def duration(seconds: float | None) -> str:
    """Return 7.0 as ``7.0 s``, 83 as ``1 min 23 s``, 5000 as ``1 h 23 min``; a missing value as a dash."""
    if seconds is None:
        return MISSING
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3_600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    if seconds < 86_400:
        return f"{int(seconds // 3_600)} h {int(seconds % 3_600 // 60)} min"
    return f"{int(seconds // 86_400)} d {int(seconds % 86_400 // 3_600)} h"


def clock(seconds: float) -> str:
    """Return 3723 as ``1:02:03``, and days before that."""
    whole = max(0, int(seconds))
    hours, minutes_and_seconds = whole // 3_600, f"{whole % 3_600 // 60:02}:{whole % 60:02}"
    return f"{hours}:{minutes_and_seconds}" if hours < 24 else f"{hours // 24} d {hours % 24}:{minutes_and_seconds}"
