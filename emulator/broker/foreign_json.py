"""JSON from programs that are not the broker's own: the ranks of jobs, and the processes of researchers' policies.

Python's reader takes halves of characters and any depth. An event that held them could not be written into the journal,
or never be read again.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic_core import from_json

DEEPEST: Final = 100
"""Levels of what goes into an event; the reader of events takes 200 for the whole event."""


def parse_foreign(text: str | bytes, *, may_be_infinite: bool = False) -> Any:
    """Parse JSON whose texts are whole characters, with NaN and infinities only if they are allowed.

    Raises:
        ValueError: if it is no such JSON.
    """
    return from_json(text, allow_inf_nan=may_be_infinite)


def check_depth(value: object, levels: int = DEEPEST) -> None:
    """Check that `value` can be part of an event.

    Raises:
        ValueError: if it is nested too deeply.
    """
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not levels and isinstance(value, dict | list):
        raise ValueError(f"it is nested deeper than {DEEPEST} levels")
    for member in members:
        if isinstance(member, dict | list):
            check_depth(member, levels - 1)
