"""Printing of text that others wrote: names, reasons, outputs. No terminal obeys what is in it.

What goes to a file or another program stays as it is only if it is an output or a log.
"""

from __future__ import annotations

import sys
from typing import TextIO

from emulator.model.counts import number_of
from emulator.model.escapes import escaped_lines


def say(text: str, *, to_error: bool = False, flush: bool = False) -> None:
    """Print `text`, which may hold text of others, and a line end; nothing in it moves a cursor or changes colours."""
    print(escaped_lines(text), file=sys.stderr if to_error else sys.stdout, flush=flush)


def say_left_out(campaign: str, records: int) -> None:
    """Say how many records of a campaign's log are not among its jobs, if any are not."""
    if records:
        left_out = f"{number_of(records, 'record')} of its log left out (`testbed simulate LOG` says why)."
        say(f"Campaign {campaign!r}: {left_out}", to_error=True)


def pass_on(text: str, stream: TextIO, *, flush: bool = False) -> None:
    """Write what a job or a container wrote: as it is to a file, harmless to a terminal; ended by a line end."""
    shown = escaped_lines(text) if stream.isatty() else text
    print(shown, end="" if not shown or shown.endswith("\n") else "\n", file=stream, flush=flush)
