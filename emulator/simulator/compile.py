"""Compilation of the policies and the engine: ``python -m emulator.simulator.compile``.

The same sources that run interpreted are compiled with mypyc. This needs mypy, setuptools and a C compiler; if one of
them is missing, the modules run interpreted. The result is kept in the project's folder under the fingerprint of the
sources, and is no longer used when one of the sources changes. The command line compiles before the first simulation
(`emulator.cli.compiling`).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from emulator.compiled import SOURCES, built_folder
from emulator.model.errors import InvalidInput
from emulator.model.project import PROJECT_ROOT

GROUP = "testbed"
COMPILER_OPTIONS = ("-fno-semantic-interposition", "-fvisibility=hidden", "-fno-plt")
"""Nobody replaces a function of the compiled modules, so calls between them need not go through a table: 10% faster."""


def compile_sources(report_progress: Callable[[str], None]) -> Path:
    """Compile all `SOURCES` unless that has been done, and return the folder with the compiled modules.

    Only one process compiles at a time; other processes wait for it and use its result.

    Raises:
        InvalidInput: if mypyc, setuptools or a C compiler is missing or fails, or the folder cannot be written.
    """
    folder = built_folder()
    with _only_one(folder.parent):
        if folder.is_dir():
            report_progress(f"Compiled already: {folder}.")
            return folder
        report_progress(f"Compiling {len(SOURCES)} modules; this takes about a minute.")
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            made = Path(temporary) / "made"
            _build(made, Path(temporary) / "objects")
            for old in folder.parent.iterdir():
                if old.is_dir() and old != Path(temporary):
                    shutil.rmtree(old, ignore_errors=True)
            made.rename(folder)
    report_progress(f"Compiled into {folder}.")
    return folder


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Create `folder` and hold its lock during the context.

    Raises:
        InvalidInput: if the folder cannot be written.
    """
    try:
        folder.mkdir(exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise InvalidInput(f"{folder}: cannot be written ({error.strerror or error}).") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(made: Path, objects: Path) -> None:
    try:
        from mypyc.build import mypycify
        from setuptools import Distribution
        from setuptools.command.build_ext import build_ext
    except ImportError as error:
        raise InvalidInput(f"Compiling needs mypy and setuptools ({error}): pip install mypy setuptools.") from error
    before = Path.cwd()
    os.chdir(PROJECT_ROOT)
    try:
        extensions = mypycify([*SOURCES], opt_level="3", debug_level="0", group_name=GROUP, target_dir=str(objects))
        for extension in extensions:
            extension.extra_compile_args += COMPILER_OPTIONS
        command = build_ext(Distribution({"name": GROUP, "ext_modules": extensions}))
        command.build_lib, command.build_temp = str(made), str(objects)
        command.ensure_finalized()
        command.run()
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"The sources could not be compiled ({error}); they run interpreted.") from error
    finally:
        os.chdir(before)


if __name__ == "__main__":
    try:
        compile_sources(lambda sentence: print(sentence, file=sys.stderr))
    except InvalidInput as error:
        sys.exit(str(error))
