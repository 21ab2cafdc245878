"""The broker's Python packages, fetched as wheels on the host, because a build may reach no package index.

``images/broker/requirements.txt`` pins them by version and hash; `make lock` writes it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from emulator.containers.cache import cache_folder
from emulator.model.errors import EngineUnavailable
from emulator.model.escapes import last_line

PYTHON_IN_IMAGE: Final = "3.11"
_GLIBC_FLOORS: Final = ("manylinux2014", "manylinux_2_17", "manylinux_2_28", "manylinux_2_34")
"""Platforms of wheels that run on the image's glibc (2.36)."""


def fetch(requirements: Path, architecture: str) -> list[Path]:
    """Download the wheels of a file of hashed requirements for the image's Python; they are kept in a cache.

    Raises:
        EngineUnavailable: if they cannot be fetched, or a hash differs.
    """
    key = hashlib.sha256(f"{PYTHON_IN_IMAGE}\n{architecture}\n".encode() + requirements.read_bytes()).hexdigest()[:16]
    folder = cache_folder() / "wheels" / key
    if not folder.is_dir():
        fetching = folder.with_name(f"{key}.{os.getpid()}")
        _download(requirements, architecture, fetching)
        if not folder.is_dir():
            fetching.rename(folder)
    return sorted(folder.glob("*.whl"))


def _download(requirements: Path, architecture: str, folder: Path) -> None:
    if find_spec("pip") is None:
        raise EngineUnavailable(
            "The broker's packages could not be fetched: pip is missing (install pip into this environment: "
            "`uv pip install pip`)."
        )
    platforms = [f"--platform={floor}_{architecture}" for floor in _GLIBC_FLOORS]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", f"--dest={folder}"]
    command += ["--no-deps", "--require-hashes", f"--requirement={requirements}"]
    command += [f"--python-version={PYTHON_IN_IMAGE}", "--implementation=cp", *platforms]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise EngineUnavailable(
            f"The broker's packages could not be fetched: {last_line(answer.stderr)} (is a package index reachable?)."
        )
