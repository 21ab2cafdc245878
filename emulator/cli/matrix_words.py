"""A matrix of measurements as a command line states it: lists joined by commas, and arguments as NAME=VALUE."""

from __future__ import annotations

import math

from emulator.campaigns.measured_applications import ArgumentValue
from emulator.model.errors import InvalidInput


def names(text: str) -> tuple[str, ...]:
    """The names in a list joined by commas."""
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def numbers(option: str, text: str) -> tuple[int, ...]:
    """The whole numbers in a list joined by commas, which `option` says.

    Raises:
        InvalidInput: if something else is among them.
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise InvalidInput(f"--{option}: must be whole numbers joined by commas, not {text!r}.") from error


def settings(texts: list[str]) -> tuple[dict[str, dict[str, ArgumentValue]], dict[str, ArgumentValue]]:
    """Arguments by application, and those for all, of texts such as ``exchange=overlapped`` or ``heat.ratio=0.1``.

    Raises:
        InvalidInput: if a text has another form, or a number is not finite.
    """
    own: dict[str, dict[str, ArgumentValue]] = {}
    common: dict[str, ArgumentValue] = {}
    for text in texts:
        named, equals, value = text.partition("=")
        application, dot, argument = named.rpartition(".")
        if not (equals and argument):
            raise InvalidInput(f"--set: must be NAME=VALUE or APP.NAME=VALUE, not {text!r}.")
        (own.setdefault(application, {}) if dot else common)[argument] = _value(value)
    return own, common


def _value(text: str) -> ArgumentValue:
    if text in ("true", "false"):
        return text == "true"
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        raise InvalidInput(f"--set: a number must be finite, not {text}.")
    return int(text) if text.lstrip("+-").isdecimal() else number
