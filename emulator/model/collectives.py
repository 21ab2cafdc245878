"""How a job's processes meet, and how their messages and nodes depend on how many they are, as a topology states it."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from emulator.model.documents import DocumentModel
from emulator.model.interconnects import WhichInterconnect

Pattern = Literal["tree", "binomial", "flat"]
"""The pattern in which values are collected from all processes and distributed to them (``apps/tree.py``)."""


class Collectives(DocumentModel):
    """The pattern of collectives, and by how much messages take longer among many processes than between two.

    A step of an iteration ends when its slowest message has arrived. The time of a message varies, and of the largest
    of many the mean grows with the logarithm of their number: `spread` is the growth for each doubling of a job's
    processes beyond two, as a share of the latency, of the time per message and of the delay between clusters.
    """

    pattern: Pattern = "tree"
    spread: Annotated[float, Field(ge=0)] = 0.0

    def stretch(self, processes: int) -> float:
        """Return how many times as long a message takes among that number of processes as between two."""
        return 1.0 + self.spread * math.log2(max(2, processes) / 2)


class WholeNodes(DocumentModel):
    """The largest jobs in one cluster that get a node for each processor, by the interconnect that they use.

    Other jobs get all processors of their nodes. The processors of a node share its memory.
    """

    single_cluster: Annotated[int, Field(ge=0)] = 0
    coallocated: Annotated[int, Field(ge=0)] = 0

    def per_node(self, processors: int, clusters: int, which: WhichInterconnect | None, of_node: int) -> int:
        """Return how many processors of each node a job gets, where a node has `of_node`."""
        if clusters > 1:
            return of_node
        coallocated = which is WhichInterconnect.COALLOCATED
        return 1 if processors <= (self.coallocated if coallocated else self.single_cluster) else of_node
