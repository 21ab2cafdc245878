"""Writing a fitted topology: into its own file, comments and layout kept, or into a new one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from emulator.calibration.profile_files import read_yaml, updated, write_yaml
from emulator.model.documents import document_text
from emulator.model.errors import InvalidInput
from emulator.model.topology import Topology
from emulator.model.whole_files import written_whole

_FITTED = ("processor", "interconnects", "collectives", "links", "default_link", "uncertainty")


def write_topology(path: Path, topology: Topology) -> None:
    """Write what a fit finds of `topology` into the topology file at `path`, or all of it into a new file.

    Raises:
        InvalidInput: if the file cannot be written, or holds another document.
    """
    if not path.exists():
        topology = _own_profile(topology)
        if not path.parent.is_dir():
            raise InvalidInput(f"{path}: cannot be written (there is no folder {path.parent}).")
        with written_whole(path) as file:
            file.write(document_text(topology.model_copy(update={"name": path.stem})))
        return
    document = read_yaml(path)
    if "clusters" not in document:
        raise InvalidInput(f"{path}: is no topology; name a topology's file, or a new one.")
    if isinstance(document.get("processor"), str):
        topology = _own_profile(topology)
    content = topology.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    found: Mapping[str, object] = {key: content[key] for key in _FITTED if key in content}
    updated(document, {**document, **found})
    write_yaml(path, document, Topology)


def _own_profile(topology: Topology) -> Topology:
    """Return it with a profile of its own: it no longer is the profile that it was named by."""
    processor = topology.processor.model_copy(update={"name": f"{topology.processor.name}-calibrated"})
    return topology.model_copy(update={"processor": processor})
