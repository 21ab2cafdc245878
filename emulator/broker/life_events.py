"""What a placed job's life reports to the broker's loop, in this order, and how it ends.

Host moments are those of the events themselves, taken where they happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.model.job import JobState
from emulator.policies.claiming import ClaimingProcedure


@dataclass(frozen=True, slots=True)
class ClaimTried:
    """A claiming try begins, the one that `procedure` says is due."""

    procedure: ClaimingProcedure


@dataclass(frozen=True, slots=True)
class ClaimTryFailed:
    """A claiming try failed in `cluster`, and all it held is released; `procedure` is the next, if there is one."""

    cluster: str
    reason: str
    procedure: ClaimingProcedure | None


@dataclass(frozen=True, slots=True)
class ComponentClaimed:
    """A cluster gave the processors asked of it."""

    cluster: str
    allocation: str
    host_moment_s: float


@dataclass(frozen=True, slots=True)
class AllClaimed:
    """The barrier: every component holds its processors."""

    host_moment_s: float


@dataclass(frozen=True, slots=True)
class Started:
    """All processes have started, `host_late_s` after the moment they were to."""

    host_moment_s: float
    host_late_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The job's end; `host_finished_s` is the application's own last moment, if it got so far."""

    state: JobState
    reason: str = ""
    exit_code: int | None = None
    host_finished_s: float | None = None
    result: dict[str, Any] | None = None


LifeEvent = ClaimTried | ClaimTryFailed | ComponentClaimed | AllClaimed | Started | Ended
