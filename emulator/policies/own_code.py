"""A researcher's own code: loaded from source text, and what it raises said in one sentence that names its line."""

from __future__ import annotations

import sys
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Final

from emulator.model.errors import InvalidInput, PolicyFailed

LONGEST_SAID: Final = 300
"""Characters of an exception's own words that are passed on."""

RAISED = (Exception, SystemExit, GeneratorExit)
"""What own code may raise and is answered for; a keyboard's interrupt is the user's."""


def source_at(path: Path) -> str:
    """The source in the file at `path`.

    Raises:
        InvalidInput: if there is none, or it is not text in UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not text in UTF-8.") from error
    except OSError as error:
        raise InvalidInput(f"There is no policy file {str(path)!r} ({error.strerror or error}).") from error


def module_of(file: str, source: str) -> ModuleType:
    """The module that `source`, called `file` in its tracebacks, makes.

    Raises:
        InvalidInput: if it cannot be loaded, whatever it raises.
    """
    module = ModuleType(f"own code in {file}")
    module.__file__ = file
    # Dataclasses look their own module up while they are made.
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    except RAISED as error:
        raise InvalidInput(f"{file}: the file cannot be loaded: {said(error, file)}.") from error
    finally:
        sys.modules.pop(module.__name__, None)
    return module


def failed(name: str, method: str, error: BaseException) -> PolicyFailed:
    """The error for what `method` of the class that `name` points to raised."""
    return PolicyFailed(f"{name}: {method} raised {said(error, name.rpartition(':')[0])}.")


def said(error: BaseException, file: str) -> str:
    """The name and words of `error` on one line, and the last line of `file` that it came through."""
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    try:
        words = " ".join(str(error).split()).rstrip(".")
    except RAISED:
        words = ""
    # A syntax error names its line itself.
    where = f" ({file}, line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}{': ' if words else ''}{words[:LONGEST_SAID]}{where}"
