"""What long work in this package tells while it goes on: the command line shows it, tests may look at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of bringing a testbed up: which stage, and what is happening in it."""

    stage: str
    detail: str


Observer = Callable[[Progress], None]


def ignore(progress: Progress) -> None:
    """An observer that does nothing."""
