"""The result of one check of the host, or of a real cluster's head, before a testbed is brought up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: what was found, whether it suffices, and the remedy where it does not.

    `needed` is true if no testbed can run without it.
    """

    check: str
    ok: bool
    found: str
    remedy: str = ""
    needed: bool = False
