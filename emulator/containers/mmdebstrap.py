"""Debian's mmdebstrap: the host's own, or a copy of its package fetched into the cache folder.

mmdebstrap is a Perl script, and `apt-get download` needs no root, so nothing is installed on the host.
Needs the standard library only.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from emulator.containers.cache import cache_folder
from emulator.model.errors import EngineUnavailable
from emulator.model.escapes import last_line

_NEEDED: Final = ("apt-get", "dpkg-deb", "perl")


def missing_programs() -> list[str]:
    """Return the programs that `ensure` needs and this host lacks; empty if mmdebstrap is there or can be fetched."""
    if _find() is not None:
        return []
    return [program for program in _NEEDED if shutil.which(program) is None]


def ensure() -> Path:
    """Return the path of mmdebstrap; fetch and unpack its package first if the host has none.

    Raises:
        EngineUnavailable: if it cannot be fetched.
    """
    found = _find()
    if found is not None:
        return found
    missing = missing_programs()
    if missing:
        raise EngineUnavailable(
            f"mmdebstrap, which would make the base image, is missing, and so is {missing[0]}, which would fetch it "
            "(reach a container registry, or install mmdebstrap)."
        )
    with tempfile.TemporaryDirectory(dir=cache_folder()) as name:
        folder = Path(name)
        package = _download(folder)
        _run(["dpkg-deb", "--extract", str(package), str(folder / "unpacked")], folder)
        shutil.rmtree(_unpacked(), ignore_errors=True)
        (folder / "unpacked").rename(_unpacked())
    return _program()


def _find() -> Path | None:
    installed = shutil.which("mmdebstrap")
    if installed is not None:
        return Path(installed)
    return _program() if _program().is_file() else None


def _unpacked() -> Path:
    return cache_folder() / "mmdebstrap"


def _program() -> Path:
    return _unpacked() / "usr" / "bin" / "mmdebstrap"


def _download(folder: Path) -> Path:
    """Download the package; where the host's package lists are empty, with lists fetched into `folder`."""
    try:
        _run(["apt-get", "download", "mmdebstrap"], folder)
    except EngineUnavailable:
        for part in ("lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True)
        own = ["-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]
        _run(["apt-get", *own, "update"], folder)
        _run(["apt-get", *own, "download", "mmdebstrap"], folder)
    return next(folder.glob("mmdebstrap_*.deb"))


def _run(command: list[str], folder: Path) -> None:
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise EngineUnavailable(
            f"mmdebstrap, which would make the base image, could not be fetched: {command[0]} failed: "
            f"{last_line(answer.stderr)} (reach a container registry, or install mmdebstrap)."
        )
