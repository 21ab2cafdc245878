"""Names as people type them: capital letters make no difference, so `w1` means `W1`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from emulator.model.errors import UnknownName

DEFAULT_TESTBED: Final = "testbed"
"""The name of a testbed where the user names none."""

NAME_VARIABLE: Final = "TESTBED_NAME"
"""The environment variable that names the testbed instead."""


def spelled(name: str, known: Iterable[str]) -> str | None:
    """Return the name among `known` that equals `name` if capital letters do not count; None if there is none.

    A name that is equal letter by letter goes first.
    """
    listed = list(known)
    if name in listed:
        return name
    return next((each for each in listed if each.casefold() == name.casefold()), None)


def named_among(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the name of a `kind` of thing among `known` that `name` means.

    Raises:
        UnknownName: if it means none; the message lists all, and the nearest.
    """
    listed = list(known)
    found = spelled(name, listed)
    if found is None:
        raise UnknownName.among(kind, name, listed)
    return found
