"""One thing looked at before a testbed is brought up: of the host, or of a real cluster's head."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: what was found, whether it will do, and the remedy where it will not.

    `needed` says that no testbed can stand without it.
    """

    check: str
    ok: bool
    found: str
    remedy: str = ""
    needed: bool = False
