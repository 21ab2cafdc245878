"""Compile the policies and the engine: ``python -m emulator.simulator.compile``.

The very sources that run interpreted are compiled with mypyc, so nothing is written twice. It needs mypy, setuptools
and a C compiler; where one of them is missing the interpreted modules go on serving. The result is kept beside the
house under the fingerprint of the sources, and is out of use once one of them changes.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from emulator.compiled import HOUSE, SOURCES, built_folder
from emulator.model.errors import InvalidInput

GROUP = "testbed"


def compile_sources(tell: Callable[[str], None]) -> Path:
    """Build all `SOURCES` unless that has been done, and return the folder with the compiled modules.

    Raises:
        InvalidInput: if mypyc, setuptools or a C compiler is missing or fails.
    """
    folder = built_folder()
    if folder.is_dir():
        tell(f"Compiled already: {folder}.")
        return folder
    tell(f"Compiling {len(SOURCES)} modules; this takes about a minute.")
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        made = Path(temporary) / "made"
        _build(made, Path(temporary) / "objects")
        for old in folder.parent.iterdir():
            if old != Path(temporary):
                shutil.rmtree(old, ignore_errors=True)
        made.rename(folder)
    tell(f"Compiled into {folder}.")
    return folder


def _build(made: Path, objects: Path) -> None:
    try:
        from mypyc.build import mypycify
        from setuptools import Distribution
        from setuptools.command.build_ext import build_ext
    except ImportError as error:
        raise InvalidInput(f"Compiling needs mypy and setuptools ({error}): pip install mypy setuptools.") from error
    before = Path.cwd()
    os.chdir(HOUSE)
    try:
        extensions = mypycify([*SOURCES], opt_level="3", debug_level="0", group_name=GROUP, target_dir=str(objects))
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
