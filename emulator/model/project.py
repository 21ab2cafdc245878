"""The folders of the documents that come with the testbed, and the search for a document by name."""

from __future__ import annotations

import os
from pathlib import Path

from emulator.model.errors import UnknownName, nearest
from emulator.model.names import named_among

PROJECT_ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds ``emulator/``, ``compose/``, ``images/``, ``apps/`` and ``workloads/``."""

TOPOLOGIES = PROJECT_ROOT / "compose"
"""The folder of the topologies."""

PROCESSORS = PROJECT_ROOT / "compose" / "processors"
"""The folder of the processor profiles."""

CAMPAIGNS = PROJECT_ROOT / "workloads" / "campaigns"
"""The folder of the campaigns."""

MANUAL = PROJECT_ROOT / "docs"
"""The folder of the manual's pages."""

SECTIONS = {
    "archive": ("run-a-campaign", "What to archive for a paper"),
    "background": ("run-a-campaign", "Background load"),
    "bandwidths": ("files", "Bandwidths"),
    "campaign": ("formats", "A campaign"),
    "claims": ("reports", "Published claims"),
    "completion": ("command-line", "Completion"),
    "dilation": ("fidelity", "Emulated time and the dilation K"),
    "documents": ("command-line", "Documents"),
    "ensflow": ("applications", "Ensflow"),
    "evidence": ("fidelity", "Evidence"),
    "exit-codes": ("command-line", "Exit codes"),
    "heat": ("applications", "Heat"),
    "hosts": ("scale", "The inventory"),
    "interconnects": ("write-a-topology", "Interconnects"),
    "job": ("formats", "A job"),
    "laplace": ("applications", "Laplace"),
    "metrics": ("api", "Metrics"),
    "names": ("command-line", "Names"),
    "poisson": ("applications", "Poisson"),
    "processors": ("write-a-topology", "Processors"),
    "quota": ("run-a-campaign", "Quota"),
    "replay": ("run-a-campaign", "Replay"),
    "replicas": ("files", "Replicas"),
    "run-directory": ("formats", "A run's directory"),
    "sweep": ("simulate", "Sweeps"),
    "synthetic": ("applications", "Synthetic"),
    "verdicts": ("fidelity", "Verdicts"),
    "watch": ("page", "In the terminal"),
    "wide-area": ("fidelity", "The wide area"),
}
"""Sections of the manual that are topics of their own: the page of each, and its heading there."""

DOCUMENT_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
"""What the name of a document's file ends with."""


def with_extra(extra: str) -> str:
    """Return the command that installs the testbed with one of its extras: from sources in place, or from its wheel."""
    in_place = (PROJECT_ROOT / "pyproject.toml").is_file()
    return f"pip install --editable '.[{extra}]'" if in_place else f"pip install 'WHEEL[{extra}]', WHEEL being its file"


def locate(kind: str, name_or_path: str, folder: Path) -> Path:
    """Find the file that `name_or_path` means: an existing file, or ``NAME.yaml`` in `folder`, whatever its case.

    Raises:
        UnknownName: if there is no such file; the message lists the names that exist.
    """
    if is_path(name_or_path):
        return _existing(kind, name_or_path)
    return folder / f"{named_among(kind, name_or_path, names_in(folder))}.yaml"


def is_path(name_or_path: str) -> bool:
    """Return whether a document is named by the path of its file, not by a name."""
    return Path(name_or_path).suffix.lower() in DOCUMENT_SUFFIXES or os.sep in name_or_path


def path_beside(folder: Path, stated: str) -> str:
    """Return the path of the file that a document in `folder` states: relative to that folder.

    A file that is not there, but in the working directory, is taken from there, as it always was.
    """
    try:
        is_only_here = Path(stated).is_file() and not (folder / stated).is_file()
    except OSError:  # what no file can be called
        return stated
    return stated if is_only_here or folder == Path() else str(folder / stated)


def names_in(folder: Path) -> list[str]:
    """List the names of the documents in `folder`."""
    return sorted(file.stem for file in folder.glob("*.yaml"))


def topics() -> list[str]:
    """List the topics of the manual: its pages by the names of their files, and the `SECTIONS`."""
    pages = {page.stem for page in MANUAL.glob("*.md")} - {"index"}
    return sorted(pages | set(SECTIONS))


def _existing(kind: str, typed: str) -> Path:
    """Return the path that the user `typed` if there is a file.

    Raises:
        UnknownName: if there is none; the message names a file beside it whose name is near.
    """
    path = Path(typed)
    try:
        if path.is_file():
            return path
        if path.is_dir():
            raise UnknownName(f"{typed!r} is a folder, not a {kind} file (name a file in it).")
        beside = {file.stem: file.name for file in path.parent.iterdir()} if path.parent.is_dir() else {}
    except (OSError, ValueError) as error:
        raise UnknownName(f"There is no {kind} file {typed!r} ({getattr(error, 'strerror', '') or error}).") from error
    near = nearest(path.stem, list(beside))
    suggested = f" (did you mean {str(path.with_name(beside[near[0]]))!r}?)" if near else ""
    raise UnknownName(f"There is no {kind} file {typed!r}{suggested}.")
