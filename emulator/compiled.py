"""Compiled twins: where policies and engine have been compiled, import those instead of the interpreted modules.

``python -m emulator.simulator.compile`` builds them into a folder named after the fingerprint of the sources. If that
folder exists, a finder in front of Python's own serves the modules from it - all of them or, if one was imported
already, none, because compiled modules know each other's layout. If it does not exist, nothing changes.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

HOUSE = Path(__file__).resolve().parents[1]

_PLACEMENTS = (
    "by_kind", "close_to_files", "cluster_minimization", "files", "fixed", "flexible_cluster_minimization", "quota",
    "ranking", "worst_fit", "worst_fit_distinct",
)  # fmt: skip
_QUEUES = (
    "global_and_local", "gp", "gs", "job_queue", "local_priority", "local_schedulers", "lp_gf", "lp_lf", "lp_rd",
    "ls_do", "ls_or", "ls_rd", "ls_ro", "placement_queue", "remembering", "sc", "visiting",
)  # fmt: skip

MODULES = (
    "emulator.model.placement",
    "emulator.model.request",
    "emulator.model.stream",
    "emulator.policies.answers",
    "emulator.policies.possibility",
    "emulator.policies.protocols",
    "emulator.policies.state",
    *(f"emulator.policies.placement.{name}" for name in _PLACEMENTS),
    *(f"emulator.policies.queues.{name}" for name in _QUEUES),
    *(f"emulator.simulator.{name}" for name in ("admission", "engine", "runtime", "statistics")),
)
SOURCES = tuple(module.replace(".", "/") + ".py" for module in MODULES)

_READ_BY_THEM = ("emulator/policies/adaptation.py",)
_BUILT = HOUSE / ".compiled"


class CompiledFinder(MetaPathFinder):
    """Serves the modules that lie compiled in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._files = {
            str(file.relative_to(folder)).removesuffix(suffix).replace("/", "."): file
            for suffix in EXTENSION_SUFFIXES[:1]
            for file in folder.rglob(f"*{suffix}")
        }

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """How to load `fullname`, if it is one of the compiled modules."""
        file = self._files.get(fullname)
        if file is None:
            return None
        return spec_from_file_location(fullname, file, loader=ExtensionFileLoader(fullname, str(file)))


def fingerprint() -> str:
    """What the compiled modules depend on: their sources, what these read, and the interpreter."""
    digest = hashlib.sha256(f"{sys.implementation.cache_tag} {sys.platform}".encode())
    for source in (*SOURCES, *_READ_BY_THEM):
        digest.update(source.encode() + b"\0" + (HOUSE / source).read_bytes())
    return digest.hexdigest()[:16]


def built_folder() -> Path:
    """Where the compiled twins of the present sources lie, if they have been built."""
    return _BUILT / fingerprint()


def install() -> None:
    """Serve compiled modules from now on, if they are there and none of them has been imported interpreted."""
    if not _BUILT.is_dir() or any(module in sys.modules for module in MODULES):
        return
    folder = built_folder()
    if folder.is_dir():
        sys.meta_path.insert(0, CompiledFinder(folder))


def in_use() -> bool:
    """Whether the compiled modules serve."""
    return any(isinstance(finder, CompiledFinder) for finder in sys.meta_path)
