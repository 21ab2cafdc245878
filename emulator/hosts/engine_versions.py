"""The versions of Docker's engine, and which of them carry a testbed. Pure."""

from __future__ import annotations

from typing import Final

from emulator.model.finding import Finding

OLDEST_ENGINE: Final = (20, 10)
"""No older one carries a testbed."""

SURE_ENGINE: Final = (20, 10, 10)
"""Before it, containers with the C library of Debian 12 start no thread (clone3), unless a distribution mended that."""


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with; none if it begins with a word, such as ``dev``."""
    parts = version.removeprefix("v").replace("+", ".").replace("-", ".").split(".")
    numbers: list[int] = []
    for part in parts:
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


def engine_finding(check: str, version: str) -> Finding:
    """Judge an engine by its version; one without numbers is taken for a new one."""
    numbers = version_numbers(version)
    remedy = f"install Docker Engine {'.'.join(map(str, SURE_ENGINE))} or later"
    return Finding(check, not numbers or numbers >= SURE_ENGINE, version, remedy, needed=numbers < OLDEST_ENGINE)
