"""What a shell offers where a name is typed: policies, topologies, runs, topics, ... (`--install-completion`).

A shell waits for these, so nothing heavy is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from emulator.model.project import CAMPAIGNS, DOCUMENT_SUFFIXES, TOPOLOGIES, names_in
from emulator.model.project import topics as topics_of_manual
from emulator.policies.names import NODE_POLICIES, NODE_QUEUES, POLICIES, QUEUES

Offered = list[tuple[str, str]]
"""Names, each with a line about it, which some shells show."""


def policies(incomplete: str) -> Offered:
    """Offer placement policies, and Python files."""
    return _described(POLICIES | NODE_POLICIES, incomplete) + _files(incomplete, {".py"})


def queues(incomplete: str) -> Offered:
    """Offer queue disciplines, and Python files."""
    return _described(QUEUES | NODE_QUEUES, incomplete) + _files(incomplete, {".py"})


def topologies(incomplete: str) -> Offered:
    """Offer the topologies that come with the testbed, and YAML files."""
    return _named(names_in(TOPOLOGIES), incomplete) + _files(incomplete, DOCUMENT_SUFFIXES)


def campaigns(incomplete: str) -> Offered:
    """Offer the campaigns that come with the testbed, and YAML files."""
    return _named(names_in(CAMPAIGNS), incomplete) + _files(incomplete, DOCUMENT_SUFFIXES)


def workloads(incomplete: str) -> Offered:
    """Offer what can be simulated: campaigns, and files of jobs."""
    return _named(names_in(CAMPAIGNS), incomplete) + _files(incomplete, DOCUMENT_SUFFIXES | {".jsonl", ".swf", ".gz"})


def topics(incomplete: str) -> Offered:
    """Offer the topics of the manual."""
    return _named(topics_of_manual(), incomplete)


def runs(incomplete: str) -> Offered:
    """Offer the directories of runs: those in ``runs/``, and those where `incomplete` points."""
    found = {str(path.parent) for folder in (Path("runs"), _folder_of(incomplete)) for path in _manifests(folder)}
    return _named(sorted(found), incomplete)


def topologies_and_runs(incomplete: str) -> Offered:
    """Offer topologies and the directories of runs."""
    return topologies(incomplete) + runs(incomplete)


def documents(incomplete: str) -> Offered:
    """Offer YAML and JSON files."""
    return _files(incomplete, DOCUMENT_SUFFIXES)


def _described(lines: Mapping[str, str], incomplete: str) -> Offered:
    return [(name, line) for name, line in lines.items() if _begins(name, incomplete)]


def _named(names: Iterable[str], incomplete: str) -> Offered:
    return [(name, "") for name in names if _begins(name, incomplete)]


def _begins(name: str, incomplete: str) -> bool:
    return name.casefold().startswith(incomplete.casefold())


def _manifests(folder: Path) -> Iterable[Path]:
    try:
        return list(folder.glob("*/manifest.json"))
    except OSError:
        return []


def _folder_of(incomplete: str) -> Path:
    return Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent


def _files(incomplete: str, suffixes: Iterable[str]) -> Offered:
    """Offer the files with one of `suffixes`, and the folders, where `incomplete` points."""
    folder, wanted = _folder_of(incomplete), set(suffixes)
    prefix = incomplete[: incomplete.rfind("/") + 1]
    try:
        beside = sorted(folder.iterdir())
    except OSError:
        return []
    shown = [path for path in beside if not path.name.startswith(".")]
    files = [prefix + path.name for path in shown if path.suffix.lower() in wanted and path.is_file()]
    folders = [f"{prefix}{path.name}/" for path in shown if path.is_dir()]
    return _named(files, incomplete) + (_named(folders, incomplete) if prefix else [])
