"""The topologies that come with the testbed, by name.

One is given either as a name (a file of that name in ``compose/``) or as a path to one's own file.
"""

from __future__ import annotations

from emulator.model.documents import read_document
from emulator.model.house import HOUSE, locate
from emulator.model.topology import Topology


def topology_named(name_or_path: str) -> Topology:
    """The topology of that name in ``compose/``, or in the YAML file at that path.

    Raises:
        UnknownName: if neither exists.
        InvalidInput: if it is no valid topology.
    """
    return read_document(locate("topology", name_or_path, HOUSE / "compose"), Topology)
