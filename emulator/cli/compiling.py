"""Compiling the simulator before it is used for the first time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from rich.console import Console

from emulator import compiled
from emulator.cli.foreign_text import say
from emulator.model.escapes import last_line
from emulator.model.project import PROJECT_ROOT, with_extra
from emulator.model.whole_files import write_whole

COMPILE_VARIABLE: Final = "TESTBED_COMPILE"
"""The environment variable that keeps the simulator interpreted where it says ``no`` and nothing is compiled yet."""

_COMPILING: Final = "compiling the simulator, once and for about a minute"


def compile_simulator(prepare: Callable[[], object] | None = None) -> None:
    """Compile policies and engine unless that is done, and let this process import the compiled modules.

    Call it before any of them is imported; if one has been, nothing is done. Where they cannot be compiled they run
    interpreted, and stderr says why. What is wrong with the user's input is said before the minute that compiling
    takes: `prepare` reads that input, and goes to another process, because it imports what is yet to be compiled.

    Raises:
        TestbedError: if `prepare` does and something is to be compiled.
    """
    if compiled.in_use() or any(module in sys.modules for module in compiled.MODULES):
        return
    if not compiled.built_folder().is_dir():
        if os.environ.get(COMPILE_VARIABLE) == "no":
            return
        if prepare is not None:
            _try(prepare)
        reason = _what_lacks() or _compile()
        if reason:
            say(f"The simulator runs interpreted, three to four times as long: {reason}", to_error=True)
            return
    compiled.install()


def _try(prepare: Callable[[], object]) -> None:
    """Call `prepare` in a process of its own, and raise what it raises."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("fork")) as process:
        process.submit(_call, prepare).result()


def _call(prepare: Callable[[], object]) -> None:
    prepare()


def _what_lacks() -> str:
    """Return a sentence about what the compiling needs and this host lacks; empty if it lacks nothing."""
    if not (find_spec("mypyc") and find_spec("setuptools")):
        return f"compiling it needs the extra 'sim' ({with_extra('sim')})."
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if not shutil.which(compiler):
        return f"there is no C compiler {compiler!r} (on Debian: `apt-get install gcc`)."
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        return "Python's headers are missing (on Debian: `apt-get install python3-dev`)."
    return ""


def _compile() -> str:
    """Compile in another process, and return a sentence about why that failed; empty if it did not.

    A failure is remembered for as long as the sources stay as they are, because it takes nearly as long as a success.
    """
    failure = compiled.built_folder().with_suffix(".failed")
    remembered = failure.read_text(encoding="utf-8") if failure.is_file() else ""
    if remembered:  # a full disk may have left an empty file
        return remembered
    console = Console(stderr=True)
    if not console.is_terminal:
        print(_COMPILING, file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "emulator.simulator.compile"]
    with console.status(_COMPILING):
        done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    said = f"{last_line(done.stderr, 'the compiler failed without a reason')}."
    with suppress(OSError):
        write_whole(failure, f"{said} Try again with `python -m emulator.simulator.compile`.")
    return said
