"""Progress reports of long work in this package; the command line shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """One step of bringing a testbed up: which stage, and what is happening in it."""

    stage: str
    detail: str


Observer = Callable[[ProgressStep], None]


def ignore(progress: ProgressStep) -> None:
    """Do nothing with a step."""
