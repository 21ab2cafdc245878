"""The broker's Python packages, fetched as wheels on the host, because a build may reach no package index."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

from emulator.containers.caches import cache_folder
from emulator.model.errors import EngineUnavailable

DISTRIBUTION: Final = "multicluster-testbed"
PYTHON_IN_IMAGE: Final = "3.11"
_GLIBC_FLOORS: Final = ("manylinux2014", "manylinux_2_17", "manylinux_2_28", "manylinux_2_34")
"""Platforms of wheels that run on the image's glibc (2.36)."""

_OF_BROKER: Final = re.compile(r"""^(?P<requirement>[^;]+?)\s*;\s*extra\s*==\s*['"]broker['"]$""")


def broker_requirements() -> list[str]:
    """The requirements of the installed distribution's `broker` extra, in order.

    From the distribution and not from ``pyproject.toml``, which an installed wheel does not have.

    Raises:
        EngineUnavailable: if the distribution is not installed.
    """
    try:
        stated = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError as error:
        raise EngineUnavailable(
            f"The package {DISTRIBUTION} is not installed, so nobody knows what its broker needs "
            "(`make testbed-up`, or `pip install --editable .`)."
        ) from error
    return sorted(match["requirement"] for match in map(_OF_BROKER.match, stated) if match)


def fetch(requirements: list[str], architecture: str) -> list[Path]:
    """Wheels of the requirements and all they need, for the image's Python and that architecture; kept in a cache.

    Raises:
        EngineUnavailable: if they cannot be fetched.
    """
    key = hashlib.sha256("\n".join([PYTHON_IN_IMAGE, architecture, *requirements]).encode()).hexdigest()[:16]
    folder = cache_folder() / "wheels" / key
    if not folder.is_dir():
        fetching = folder.with_name(f"{key}.{os.getpid()}")
        _download(requirements, architecture, fetching)
        if not folder.is_dir():
            fetching.rename(folder)
    return sorted(folder.glob("*.whl"))


def _download(requirements: list[str], architecture: str, folder: Path) -> None:
    platforms = [f"--platform={floor}_{architecture}" for floor in _GLIBC_FLOORS]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", f"--dest={folder}"]
    command += [f"--python-version={PYTHON_IN_IMAGE}", "--implementation=cp", *platforms, *requirements]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        words = (answer.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise EngineUnavailable(f"The broker's packages could not be fetched: {words} (is a package index reachable?).")
