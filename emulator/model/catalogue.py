"""Where the documents that come with the testbed lie, and how a name becomes one of them.

A topology or campaign is given either as a name (a file of that name in ``compose/`` or ``workloads/campaigns/``) or as
a path to one's own file.
"""

from __future__ import annotations

from pathlib import Path

from emulator.model.documents import read_document
from emulator.model.errors import UnknownName
from emulator.model.topology import Topology

HOUSE = Path(__file__).resolve().parents[2]
"""The folder that holds ``emulator/``, ``compose/``, ``images/``, ``apps/`` and ``workloads/``."""


def topology_named(name_or_path: str) -> Topology:
    """The topology of that name in ``compose/``, or in the YAML file at that path.

    Raises:
        UnknownName: if neither exists.
        InvalidInput: if it is no valid topology.
    """
    return read_document(locate("topology", name_or_path, HOUSE / "compose"), Topology)


def locate(kind: str, name_or_path: str, folder: Path) -> Path:
    """The file that `name_or_path` means: an existing file, or ``NAME.yaml`` in `folder`.

    Raises:
        UnknownName: if there is no such file; the message lists the names that exist.
    """
    path = Path(name_or_path)
    if path.suffix in {".yaml", ".yml", ".json"} or path.parent != Path():
        if path.is_file():
            return path
        raise UnknownName(f"There is no {kind} file {name_or_path!r}.")
    shipped = folder / f"{name_or_path}.yaml"
    if not shipped.is_file():
        raise UnknownName.among(kind, name_or_path, sorted(file.stem for file in folder.glob("*.yaml")))
    return shipped
