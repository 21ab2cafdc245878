"""Files with one JSON object a line, which users write: each line with its place, and its fault in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from emulator.model.errors import InvalidInput
from emulator.model.faults import first_fault

Entry = TypeVar("Entry", bound=BaseModel)


def placed_lines(path: Path) -> Iterator[tuple[int, str, str]]:
    """Return each line of the file at `path` that is not blank: its number, its place in words, and its text.

    Raises:
        InvalidInput: if the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error}).") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not text in UTF-8.") from error
    return ((number, f"{path}, line {number}", line) for number, line in enumerate(lines, start=1) if line.strip())


def parsed_line(line: str, model: type[Entry], place: str) -> Entry:
    """Return the object that `line` holds.

    Raises:
        InvalidInput: if it is none, or not one of a `model`; the message names the `place`.
    """
    try:
        return model.model_validate_json(line)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        if fault["type"] == "json_invalid":
            raise InvalidInput(f"{place}: is no JSON object ({fault['ctx']['error']}).") from error
        raise InvalidInput(f"{place}: {first_fault(error)}") from error
