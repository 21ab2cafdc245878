"""The telemetry that a run needs of a testbed, and telemetry that sees nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from emulator.containers.telemetry.counters import Counters
from emulator.containers.telemetry.link_counts import LinkCount
from emulator.model.evidence import HostSize


class Telemetry(Protocol):
    """A source of observations of a testbed."""

    @property
    def missing(self) -> tuple[str, ...]:
        """What the host does not report, a phrase each."""

    @property
    def hosts(self) -> Mapping[str, str]:
        """The host of each cluster that is on another machine than this command."""

    @property
    def sizes(self) -> Mapping[str, HostSize]:
        """The size of each of those hosts that could be looked at."""

    def look(self) -> Mapping[str, Counters]:
        """Return the current counters of all hosts and of every part of the testbed."""

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
    hosts: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, HostSize] = field(default_factory=dict)

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
