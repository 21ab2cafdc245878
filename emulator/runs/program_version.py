"""Which program made a run: a digest of the sources that are installed, and the commit of a clone.

All commits between two releases have one version, so that the version alone does not say which program it was.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from emulator.model.project import PROJECT_ROOT

_FOLDERS: Final = ("apps", "emulator", "images", "workloads")
"""What a clone and a wheel both hold, at the same places."""

_PROGRAMS: Final = frozenset({".c", ".h", ".py", ".pyx", ".sh"})
"""What the names of its programs end with; topologies and campaigns are whole in the manifests of their runs."""

_OF_ANOTHER_REPOSITORY: Final = frozenset({"GIT_COMMON_DIR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"})
"""The variables by which a hook of git, for instance, names the repository that it works on."""

_DIGITS: Final = 16
_HOST_PATIENCE_S: Final = 10.0


@cache
def program_version() -> dict[str, str]:
    """Return the digest of the program's ``sources`` and, of a clone, its ``commit``; found once by each process."""
    found = {"sources": sources_digest(PROJECT_ROOT)}
    commit = commit_of(PROJECT_ROOT)
    return found if commit is None else found | {"commit": commit}


def sources_digest(root: Path) -> str:
    """Return a digest of all programs below `root`, with their places there: equal in a clone and its wheel."""
    digest = hashlib.sha256()
    for place, file in sorted(_programs(root)):
        digest.update(place.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:_DIGITS]


def commit_of(root: Path) -> str | None:
    """Return the commit that is checked out in `root`, with ``-dirty`` if a file of it was changed since.

    None if `root` itself is no clone, if git is missing, or if it does not say.
    """
    if not (root / ".git").exists():
        # Not asked: git would name the commit of a repository around an environment in which a wheel is installed.
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    environment = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER_REPOSITORY}
    try:
        done = subprocess.run(
            command,
            env=environment | {"GIT_OPTIONAL_LOCKS": "0"},  # a lock could disturb a command of the user's
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=_HOST_PATIENCE_S,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _programs(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the place of each program below `root`, and its file; what is hidden or was made of others is left out."""
    for folder in _FOLDERS:
        for file in (root / folder).rglob("*"):
            place = file.relative_to(root)
            made_by_cython = file.suffix == ".c" and file.with_suffix(".pyx").exists()
            hidden = any(part.startswith(".") for part in place.parts)
            if file.suffix in _PROGRAMS and file.is_file() and not made_by_cython and not hidden:
                yield place.as_posix(), file
