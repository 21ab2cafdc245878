"""Where a run looks at the testbed from: what it needs of a lookout, and the one from nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from emulator.containers.evidence.counters import Counters
from emulator.containers.evidence.link_counts import LinkCount


class Lookout(Protocol):
    """Where a testbed is looked at from."""

    @property
    def missing(self) -> tuple[str, ...]:
        """What the host does not tell, a phrase each."""

    def look(self) -> Mapping[str, Counters]:
        """The counters of the host and of every part of the testbed, now."""

    def links(self) -> Sequence[LinkCount]:
        """Every link, now."""


class Observatory(Protocol):
    """What lends a lookout on a testbed."""

    def __call__(self) -> AbstractContextManager[Lookout]:
        """A lookout, for as long as it is held."""


@dataclass(frozen=True, slots=True)
class Nowhere:
    """The lookout on a testbed whose host nobody can look at: it sees nothing, and says so."""

    missing: tuple[str, ...] = ("anything: nobody looked at this testbed",)

    def look(self) -> Mapping[str, Counters]:
        """Nothing."""
        return {}

    def links(self) -> Sequence[LinkCount]:
        """Nothing."""
        return ()


@contextmanager
def unobserved() -> Iterator[Lookout]:
    """The lookout from nowhere."""
    yield Nowhere()
