"""Loading of a researcher's own code from source text, and one-sentence descriptions of the exceptions it raises."""

from __future__ import annotations

import sys
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Final

from emulator.model.errors import InvalidInput, PolicyFailed

LONGEST_SAID: Final = 300
"""Maximum number of characters of an exception's message that are reported."""

RAISED = (Exception, SystemExit, GeneratorExit)
"""Exceptions of a researcher's own code that are caught; a keyboard interrupt is not, because it is the user's."""


def source_at(path: Path) -> str:
    """Return the source text in the file at `path`.

    Raises:
        InvalidInput: if the file cannot be read, or is not text in UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not text in UTF-8.") from error
    except OSError as error:
        raise InvalidInput(f"There is no policy file {str(path)!r} ({error.strerror or error}).") from error


def module_of(file: str, source: str) -> ModuleType:
    """Execute `source` as a module and return the module; tracebacks call it `file`.

    Raises:
        InvalidInput: if the source raises any exception.
    """
    module = ModuleType(f"own code in {file}")
    module.__file__ = file
    # The dataclass decorator looks up the module of the class in sys.modules.
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    except RAISED as error:
        raise InvalidInput(f"{file}: the file cannot be loaded: {said(error, file)}.") from error
    finally:
        sys.modules.pop(module.__name__, None)
    return module


def failed(name: str, method: str, error: BaseException) -> PolicyFailed:
    """Return the `PolicyFailed` for an exception that `method` of the class `name` raised."""
    return PolicyFailed(f"{name}: {method} raised {said(error, name.rpartition(':')[0])}.")


def said(error: BaseException, file: str) -> str:
    """Return the type and message of `error` on one line, with the last line of `file` in its traceback."""
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    try:
        words = " ".join(str(error).split()).rstrip(".")
    except RAISED:
        words = ""
    # The message of a syntax error already names the line.
    where = f" ({file}, line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}{': ' if words else ''}{words[:LONGEST_SAID]}{where}"
