"""Import of compiled policies and engine in place of the interpreted modules, if they have been compiled.

``python -m emulator.simulator.compile`` builds them into a folder named after the fingerprint of the sources. If that
folder exists, a finder before Python's own loads the modules from it. It loads all of them or, if one was already
imported interpreted, none, because compiled modules depend on each other's memory layout. Without the folder, nothing
changes.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

from emulator.model.project import PROJECT_ROOT

_PLACEMENTS = (
    "by_kind", "close_to_files", "cluster_minimization", "exclusive_nodes", "files", "fixed",
    "flexible_cluster_minimization", "quota", "ranking", "worst_fit", "worst_fit_distinct",
)  # fmt: skip
_QUEUES = (
    "backfilling", "by_estimate", "estimate_queue", "estimated_jobs", "global_and_local", "global_priority",
    "global_scheduler", "job_queue", "local_priority", "local_schedulers", "placement_queue", "planned_idle",
    "snapshot_codec", "visiting", "waiting_groups",
)  # fmt: skip
_SIMULATOR = ("claiming", "engine", "possible_jobs", "runtime", "simulated_job", "statistics")

MODULES = (
    "emulator.model.held_nodes",
    "emulator.model.placement",
    "emulator.model.request",
    "emulator.model.stream",
    "emulator.model.time_sharing.processor",
    "emulator.model.time_sharing.task",
    "emulator.policies.answer_checks",
    "emulator.policies.feasibility",
    "emulator.policies.idle_room",
    "emulator.policies.protocols",
    "emulator.policies.state",
    "emulator.policies.traits",
    *(f"emulator.policies.placement.{name}" for name in _PLACEMENTS),
    *(f"emulator.policies.queues.{name}" for name in _QUEUES),
    *(f"emulator.simulator.{name}" for name in _SIMULATOR),
    *(f"emulator.simulator.time_shared.{name}" for name in ("engine", "network", "tasks")),
)
SOURCES = tuple(module.replace(".", "/") + ".py" for module in MODULES)

_READ_BY_THEM = ("emulator/model/time_sharing/rules.py", "emulator/policies/request_kinds.py")
_BUILT = PROJECT_ROOT / ".compiled"
_FILLER = "mypyc filler docstring"


class CompiledFinder:
    """A finder of the compiled modules in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._files = {
            str(file.relative_to(folder)).removesuffix(suffix).replace("/", "."): file
            for suffix in EXTENSION_SUFFIXES[:1]
            for file in folder.rglob(f"*{suffix}")
        }

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of the module `fullname`, or None if it is not compiled."""
        file = self._files.get(fullname)
        if file is None:
            return None
        return spec_from_file_location(fullname, file, loader=_DocumentedLoader(fullname, str(file)))


class _DocumentedLoader(ExtensionFileLoader):
    """A loader of a compiled module that gives enumerations their docstrings, which mypyc replaces by a filler."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        restore_docstrings(module, PROJECT_ROOT / f"{module.__name__.replace('.', '/')}.py")


def restore_docstrings(module: ModuleType, source: Path) -> None:
    """Give each class of `module` that has mypyc's filler as docstring the docstring that it has in `source`."""
    undocumented = {name: made for name, made in vars(module).items() if getattr(made, "__doc__", None) == _FILLER}
    if not undocumented:
        return
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name in undocumented:
            undocumented[node.name].__doc__ = ast.get_docstring(node)


def fingerprint() -> str:
    """Return a hash of what the compiled modules depend on: their sources, other sources they use, the interpreter."""
    digest = hashlib.sha256(f"{sys.implementation.cache_tag} {sys.platform}".encode())
    for source in (*SOURCES, *_READ_BY_THEM):
        digest.update(source.encode() + b"\0" + (PROJECT_ROOT / source).read_bytes())
    return digest.hexdigest()[:16]


def built_folder() -> Path:
    """Return the folder of the compiled modules for the current sources; it exists only if they have been compiled."""
    return _BUILT / fingerprint()


def install() -> None:
    """Import compiled modules from now on, if they exist and none of them has been imported interpreted."""
    if not _BUILT.is_dir() or any(module in sys.modules for module in MODULES):
        return
    folder = built_folder()
    if folder.is_dir():
        sys.meta_path.insert(0, CompiledFinder(folder))


def in_use() -> bool:
    """Return whether compiled modules are imported."""
    return any(isinstance(finder, CompiledFinder) for finder in sys.meta_path)
