"""The faults that pydantic finds in a document or a request, as sentences for people: key, fault, value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

_REWORDED: Final = (
    (r"^Value error, ", ""),
    (r"^\w+ should ", "must "),
    (r"^Unable to parse input string as an integer.*", "must be a smaller number"),
    (r" after validation, not \d+$", ""),
    (r"a valid integer.*", "a whole number"),
    (r"a valid number.*", "a number"),
    (r"a valid string$", "text"),
    (r"a valid boolean.*", "true or false"),
    (r"a valid (tuple|list)$", "a list"),
    (r"a valid dictionary.*", "a mapping of keys"),
)
"""What to say where pydantic speaks of Python's types."""

UNKNOWN_KEY: Final = "unknown key"
"""How the sentence about a key begins that a document or a request may not have."""

_OF_NAMES: Final = re.compile(r"\^\[([^]]+)\]\[([^]]+)\]\{0,(\d+)\}\$")
"""The pattern of a name: the characters of its beginning, those of the rest, and how many may follow the first."""

_CHARACTERS: Final = (("A-Za-z", "letters"), ("a-z", "small letters"), ("A-Z", "capital letters"), ("0-9", "digits"))


def reworded(message: str) -> str:
    """Return pydantic's `message` in words for people, without the full stop."""
    for pattern, words in _REWORDED:
        message = re.sub(pattern, words, message)
    return message.rstrip(".")


def first_fault(error: ValidationError) -> str:
    """Return one sentence for the first fault that pydantic found."""
    return fault_sentence(error.errors(include_url=False)[0])


def all_faults(error: ValidationError) -> list[str]:
    """Return a sentence for each fault that pydantic found.

    A list is not called too short because of items that are faults themselves.
    """
    faults = error.errors(include_url=False)
    within = {tuple(fault["loc"][:-1]) for fault in faults}
    return [fault_sentence(fault) for fault in faults if fault["type"] != "too_short" or fault["loc"] not in within]


def fault_sentence(fault: Mapping[str, Any]) -> str:
    """Return one sentence for a fault as pydantic describes it (``loc``, ``type``, ``msg``, ``input``)."""
    key = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        return f"{UNKNOWN_KEY} {key!r} (value {shown(fault['input'])})."
    if fault["type"] == "missing":
        return f"{key}: this key is missing."
    if fault["type"] == "value_error":
        said = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
        return f"{key}: {said}." if key else f"{said}."
    if fault["type"] == "string_pattern_mismatch":
        return f"{key}: {_name_pattern(str(fault['ctx']['pattern']))}, not {shown(fault['input'])}."
    message = reworded(str(fault["msg"]))
    said = f"{message[0].lower()}{message[1:]}, not {shown(fault['input'])}."
    return f"{key}: {said}" if key else said


def _name_pattern(pattern: str) -> str:
    """Return what `pattern` asks for, in words if it is that of a name."""
    found = _OF_NAMES.fullmatch(pattern)
    if found is None:
        return f"must match the pattern {pattern!r}"
    first, rest, most = found.groups()
    *others, last = _characters(rest)
    all_of_it = f"{', '.join(others)} and {last}" if others else last
    begins = " or ".join(word.removesuffix("s") for word in _characters(first))
    return f"must be 1 to {int(most) + 1} {all_of_it}, a {begins} first"


def _characters(listed: str) -> list[str]:
    """Return in words the characters that a class of a pattern lists."""
    words: list[str] = []
    for part, word in _CHARACTERS:
        if part in listed:
            listed = listed.replace(part, "")
            words.append(word)
    return words + list(listed)


def shown(value: object) -> str:
    """Return `value` as a sentence shows it, shortened if it is long."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
