"""What the execution of a placed job reports to the broker's loop, in this order.

Host timestamps are those of the events themselves, taken where they happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.model.job import JobState
from emulator.policies.claiming_procedure import ClaimingProcedure


@dataclass(frozen=True, slots=True)
class ClaimTried:
    """A claiming try begins, the one that is due in `procedure`."""

    procedure: ClaimingProcedure


@dataclass(frozen=True, slots=True)
class ClaimTryFailed:
    """A claiming try failed in `cluster` and has been released; `procedure` is the next one here, if there is one."""

    cluster: str
    reason: str
    procedure: ClaimingProcedure | None


@dataclass(frozen=True, slots=True)
class ComponentClaimed:
    """A cluster granted the claimed processors."""

    cluster: str
    allocation: str
    host_timestamp_s: float


@dataclass(frozen=True, slots=True)
class AllClaimed:
    """The barrier: every component holds its processors."""

    host_timestamp_s: float


@dataclass(frozen=True, slots=True)
class Started:
    """All processes have started, `host_late_s` after their planned start."""

    host_timestamp_s: float
    host_late_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The job's end; `host_finished_s` is the end of the application itself, if it came to that."""

    state: JobState
    reason: str = ""
    exit_code: int | None = None
    host_finished_s: float | None = None
    result: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class GivenBack:
    """The job has not begun and holds nothing any more, and is to be placed again."""

    reason: str


ExecutionEvent = ClaimTried | ClaimTryFailed | ComponentClaimed | AllClaimed | Started | Ended | GivenBack
