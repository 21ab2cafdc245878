"""JSON that means the same to every reader.

Python's reader accepts NaN, infinities, numbers of any size, duplicate keys, any depth, and halves of characters, which
no file can hold. This one refuses them, and names the field.
"""

from __future__ import annotations

import json
import math
from typing import Any

from emulator.model.errors import InvalidInput
from emulator.model.views import LARGEST_NUMBER

DEEPEST = 16
LONGEST_NUMBER = 400
"""Digits of an integer that are parsed; 64-bit floats have at most 309 before the point."""


def parse_strictly(body: bytes) -> Any:
    """Parse `body`, which must be unambiguous JSON.

    Raises:
        InvalidInput: if it is not JSON in UTF-8, or is ambiguous.
    """
    try:
        text = body.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_object, parse_int=_integer)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"body: not text in UTF-8 (byte {error.start}).") from error
    except RecursionError as error:
        raise InvalidInput(f"body: nested deeper than {DEEPEST} levels.") from error
    except json.JSONDecodeError as error:
        raise InvalidInput(f"body: not JSON: {error.msg} (line {error.lineno}, column {error.colno}).") from error
    _check(value, (), DEEPEST)
    if "\\u" in text:  # only an escape can be half a character
        _check_characters(value, ())
    return value


def _integer(digits: str) -> int:
    # Python refuses to parse integers of thousands of digits; a shorter one that is still too large takes their place.
    return int(digits) if len(digits) <= LONGEST_NUMBER else 10**LONGEST_NUMBER


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InvalidInput(f"{_name(key)}: this key is given twice.")
            seen.add(key)
    return members


def _check(value: Any, path: tuple[str, ...], depth: int) -> None:
    if isinstance(value, dict | list):
        if depth == 0:
            raise InvalidInput(f"{_where(path)}: nested deeper than {DEEPEST} levels.")
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in members:
            if not isinstance(member, str | bool) and member is not None:
                _check(member, (*path, str(key)), depth - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{_where(path)}: not a number that JSON has, or too large for a 64-bit one.")
    elif isinstance(value, int) and abs(value) > LARGEST_NUMBER:
        raise InvalidInput(f"{_where(path)}: too large; an integer may be {LARGEST_NUMBER} (2^53) at most.")


def _check_characters(value: Any, path: tuple[str, ...]) -> None:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidInput(f"{_where(path)}: must be text of whole characters, not {_name(value)!r}.") from None
    elif isinstance(value, dict | list):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            _check_characters(str(key), path)
            _check_characters(member, (*path, str(key)))


def _where(path: tuple[str, ...]) -> str:
    return ".".join(_name(part) for part in path) or "body"


def _name(key: str) -> str:
    return key if len(key) <= 40 else key[:37] + "..."
