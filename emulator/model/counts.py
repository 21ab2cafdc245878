"""Numbers of things in sentences."""

from __future__ import annotations


def number_of(number: int, thing: str, things: str | None = None) -> str:
    """Return ``1 job`` or ``3 jobs``; `things` is a plural that does not just end in *s*."""
    return f"{number} {thing if number == 1 else things or f'{thing}s'}"
