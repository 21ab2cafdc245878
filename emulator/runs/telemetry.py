"""The telemetry that a run needs of a testbed, and telemetry that sees nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from emulator.containers.telemetry.counters import Counters
from emulator.containers.telemetry.link_counts import LinkCount


class Telemetry(Protocol):
    """A source of observations of a testbed."""

    @property
    def missing(self) -> tuple[str, ...]:
        """What the host does not report, a phrase each."""

    @property
    def unwatched(self) -> Mapping[str, str]:
        """The clusters whose host is not looked at, each with that host."""

    def look(self) -> Mapping[str, Counters]:
        """Return the current counters of the host and of every part of the testbed."""

    def links(self) -> Sequence[LinkCount]:
        """Return the current counts of every link."""


class TelemetryFactory(Protocol):
    """A source of telemetry on a testbed."""

    def __call__(self) -> AbstractContextManager[Telemetry]:
        """Return telemetry, for as long as its context lasts."""


@dataclass(frozen=True, slots=True)
class NullTelemetry:
    """Telemetry of a testbed whose host cannot be observed: it sees nothing, and says so."""

    missing: tuple[str, ...] = ("anything: nobody looked at this testbed",)
    unwatched: Mapping[str, str] = field(default_factory=dict)

    def look(self) -> Mapping[str, Counters]:
        """Return nothing."""
        return {}

    def links(self) -> Sequence[LinkCount]:
        """Return nothing."""
        return ()


@contextmanager
def unobserved() -> Iterator[Telemetry]:
    """Yield telemetry that sees nothing."""
    yield NullTelemetry()
