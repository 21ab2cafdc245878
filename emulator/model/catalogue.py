"""The topologies that come with the testbed, by name, and generated ones for simulations.

A topology is given as a name (of a file in ``compose/``) or as the path of a YAML file. A generated one is given by the
numbers and sizes of its clusters.
"""

from __future__ import annotations

import re
from typing import Final

from emulator.model.counts import number_of
from emulator.model.documents import is_name, read_document
from emulator.model.errors import InvalidInput
from emulator.model.project import TOPOLOGIES, locate
from emulator.model.topology import Cluster, Topology

GENERATED_FROM: Final = "four-by-32"
"""The topology whose processors, links and middleware generated ones have."""
MOST_GENERATED: Final = 65_536
_GROUP: Final = re.compile(r"(?:([0-9]{1,6})x)?([0-9]{1,7})", re.ASCII)


def topology_named(name_or_path: str) -> Topology:
    """Read the topology of that name from ``compose/``, or from the YAML file at that path.

    Raises:
        UnknownName: if neither exists.
        InvalidInput: if the file is not a valid topology.
    """
    return read_document(locate("topology", name_or_path, TOPOLOGIES), Topology)


def equal_clusters(text: str) -> Topology:
    """Return a topology of clusters as `text` states them: ``1024x32`` (1,024 of 32 processors), or ``72,4x32``.

    Everything else is that of four-by-32. Clusters with an even number of processors have dual-processor nodes.

    Raises:
        InvalidInput: if `text` says something else, or there are too many clusters.
    """
    sizes: list[int] = []
    for part in text.split(","):
        group = _GROUP.fullmatch(part.strip().lower())
        number, size = (0, 0) if group is None else (int(group[1] or 1), int(group[2]))
        if number < 1 or size < 1:
            raise InvalidInput(f"--clusters: must be such as 1024x32, or 72,4x32, not {text[:60]!r}.")
        if len(sizes) + number > MOST_GENERATED:
            raise InvalidInput(f"--clusters: at most {MOST_GENERATED} clusters are generated, not {text[:60]!r}.")
        sizes += [size] * number
    model = topology_named(GENERATED_FROM)
    link = model.clusters[0].access_link
    per_node = [2 if size % 2 == 0 else 1 for size in sizes]
    clusters = tuple(
        Cluster(name=f"c{number}", nodes=size // each, processors_per_node=each, access_link=link)
        for number, (size, each) in enumerate(zip(sizes, per_node, strict=True), start=1)
    )
    called = f"clusters-{text.strip().lower()}"
    return Topology(
        name=called if is_name(called) else "generated",
        description=f"{number_of(len(sizes), 'generated cluster')} of {number_of(sum(sizes), 'processor')} in all",
        processor=model.processor,
        interconnects=model.interconnects,
        middleware=model.middleware,
        clusters=clusters,
        default_link=model.default_link,
    )
