"""Keys that are pressed in a terminal, read one by one and without Enter."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

END_OF_INPUT: Final = "\x04"
"""What Ctrl-D types, and what a terminal that is gone returns."""

NextKey = Callable[[float], str]
"""A function that waits for a key for some host seconds, and returns it; empty if none was pressed."""


@contextmanager
def pressed_keys() -> Iterator[NextKey]:
    """Provide a function that returns the next key; where standard input is no terminal, no key is ever pressed.

    Ctrl-C interrupts as ever. Ctrl-Z does nothing: it would leave the terminal with half a screen.
    """
    if not sys.stdin.isatty():
        yield _no_key
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        settings = termios.tcgetattr(terminal)
        settings[6][termios.VSUSP] = os.fpathconf(terminal, "PC_VDISABLE").to_bytes(1, sys.byteorder)
        termios.tcsetattr(terminal, termios.TCSANOW, settings)
        yield lambda host_wait_s: _key_of(terminal, host_wait_s)
    finally:
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def _key_of(terminal: int, host_wait_s: float) -> str:
    readable, _, _ = select.select([terminal], [], [], host_wait_s)
    if not readable:
        return ""
    try:
        key = os.read(terminal, 1)
    except OSError:
        return END_OF_INPUT
    return key.decode("latin-1") or END_OF_INPUT


def _no_key(host_wait_s: float) -> str:
    time.sleep(host_wait_s)
    return ""
