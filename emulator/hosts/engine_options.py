"""The options of Docker's engine, as it states them, under which a testbed does not work. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from emulator.model.finding import Finding

NO_REMAP: Final = "leave out userns-remap in the engine's daemon.json"


def user_namespaces(options: Collection[str], remedy: str = NO_REMAP) -> Iterator[Finding]:
    """Yield a finding if an engine maps the users of its containers to others."""
    if any(option.startswith("name=userns") for option in options):
        yield Finding("user namespaces", False, "keep containers from their keys", remedy, needed=True)


def rootless(options: Collection[str]) -> Iterator[Finding]:
    """Yield a finding if an engine runs without root: it then has no part in a testbed over several hosts."""
    if any(option.startswith("name=rootless") for option in options):
        remedy = "run Docker as root there, or leave the host out"
        yield Finding("rootless", False, "this engine carries no overlay network", remedy, needed=True)
