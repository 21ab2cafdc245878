"""What all ranks do together, built on the messenger and therefore paced like every other message.

Values are collected and distributed along the tree of `apps.tree`, inside each cluster first. Every rank must call, in
the same order. The loop of an application uses a `Reduction`, whose messages are persistent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from apps.messaging import Messages, Messenger, flat
from apps.tree import place_in_tree

Values = npt.NDArray[np.float64]
Operation = Literal["sum", "max"]

# Tags of our own, above those that applications use.
_COLLECT, _DISTRIBUTE, _DIRECT = 20_001, 20_002, 20_003

_COMBINE = {"sum": np.add, "max": np.maximum}


class _AlongTree:
    """Messages along the tree for arrays of one length: `values` of this rank, `collected` of those below it."""

    def __init__(self, messenger: Messenger, length: int, root: int) -> None:
        place = place_in_tree(messenger.rank, messenger.cluster_of, root)
        self.values = np.zeros(length)
        self.collected = np.zeros((len(place.children), length))
        below = list(zip(self.collected, place.children, strict=True))
        above = () if place.parent is None else (place.parent,)
        self.collect = messenger.persistent(receives=[(row, child, _COLLECT) for row, child in below])
        self.report = messenger.persistent(sends=[(self.values, parent, _COLLECT) for parent in above])
        self.learn = messenger.persistent(receives=[(self.values, parent, _DISTRIBUTE) for parent in above])
        self.distribute = messenger.persistent(sends=[(self.values, child, _DISTRIBUTE) for _, child in below])
        self.has_children, self.has_parent = bool(below), bool(above)

    def up(self, combine: np.ufunc, sums: slice) -> None:
        """Combines what those below report into `values` - the slice `sums` as told, the rest to the largest."""
        if self.has_children:
            self.collect.run()
            for row in self.collected:
                combine(self.values[sums], row[sums], out=self.values[sums])
                np.maximum(self.values[sums.stop :], row[sums.stop :], out=self.values[sums.stop :])
        if self.has_parent:
            self.report.run()

    def down(self) -> None:
        """Passes the root's `values` on to every rank."""
        if self.has_parent:
            self.learn.run()
        if self.has_children:
            self.distribute.run()

    def free(self) -> None:
        for messages in (self.collect, self.report, self.learn, self.distribute):
            messages.free()


class Reduction:
    """A loop's own reduction: a few values of each rank, collected at rank 0 and distributed to all.

    Three values that concern the emulation travel with them, each to its largest: `carried`, set before a reduction,
    holds the largest of all ranks after it.
    """

    def __init__(self, messenger: Messenger, width: int, operation: Operation = "max") -> None:
        self._tree = _AlongTree(messenger, width + 3, root=0)
        self._combine, self._own = _COMBINE[operation], slice(0, width)
        self._values = self._tree.values[self._own]
        self.carried: Values = self._tree.values[width:]

    def reduce(self, values: Sequence[float] | Values) -> Values:
        """The sum or the largest of each of `values` over all ranks; overwritten by the next reduction."""
        self._values[:] = values
        self._tree.up(self._combine, self._own)
        self._tree.down()
        return self._values

    def free(self) -> None:
        """Gives the messages back to MPI."""
        self._tree.free()


class Collectives:
    """Barrier, broadcast, scatter, gather, reductions and all-to-all of float64 arrays, in whatever shape they have."""

    def __init__(self, messenger: Messenger) -> None:
        self._messenger = messenger
        self._trees: dict[tuple[int, int], _AlongTree] = {}
        self._to_all: dict[int, tuple[Values, Values, Messages]] = {}

    def barrier(self) -> None:
        """Returns when every rank has come."""
        self.all_reduce(np.zeros(1), "max")

    def broadcast(self, values: Values, root: int = 0) -> None:
        """Fills a contiguous array at every rank with the root's."""
        tree, elements = self._tree(values.size, root), flat(values)
        if self._messenger.rank == root:
            tree.values[:] = elements
        tree.down()
        elements[:] = tree.values

    def scatter(self, blocks: Sequence[Values] | None, mine: Values, root: int = 0) -> None:
        """Fills each rank's contiguous `mine` with its own of the root's contiguous `blocks`, one for each rank."""
        if self._messenger.rank != root:
            self._messenger.receive(mine, root, _DIRECT)
        elif blocks is not None:
            mine[...] = blocks[root]
            others = [other for other in range(self._messenger.size) if other != root]
            self._messenger.exchange(sends=[(flat(blocks[other]), other, _DIRECT) for other in others])

    def gather(self, mine: Values, blocks: Sequence[Values] | None, root: int = 0) -> None:
        """Fills the root's contiguous `blocks`, one for each rank, with the contiguous `mine` of each rank."""
        if self._messenger.rank != root:
            self._messenger.send(mine, root, _DIRECT)
        elif blocks is not None:
            blocks[root][...] = mine
            others = [other for other in range(self._messenger.size) if other != root]
            self._messenger.exchange(receives=[(flat(blocks[other]), other, _DIRECT) for other in others])

    def all_reduce(self, values: Values, operation: Operation = "sum") -> Values:
        """The sum or the largest of each element over all ranks, the same bits at every rank."""
        tree = self._tree(values.size, 0)
        tree.values[:] = values.reshape(-1)
        tree.up(_COMBINE[operation], slice(0, values.size))
        tree.down()
        return tree.values.reshape(values.shape).copy()

    def all_gather(self, values: Values) -> Values:
        """What each rank gave, one row for a rank."""
        gathered = np.empty((self._messenger.size, values.size))
        self.gather(values.reshape(-1), list(gathered) if self._messenger.rank == 0 else None)
        self.broadcast(gathered)
        return gathered

    def all_to_all(self, outgoing: Values) -> Values:
        """Row r of `outgoing` goes to rank r; row s of the result came from rank s."""
        sent, received, messages = self._pairs(outgoing.shape[1])
        sent[...] = outgoing
        messages.run()
        received[self._messenger.rank] = outgoing[self._messenger.rank]
        return received.copy()

    def free(self) -> None:
        """Gives all messages back to MPI."""
        for tree in self._trees.values():
            tree.free()
        for _, _, messages in self._to_all.values():
            messages.free()
        self._trees, self._to_all = {}, {}

    def _tree(self, length: int, root: int) -> _AlongTree:
        key = (length, root)
        if key not in self._trees:
            self._trees[key] = _AlongTree(self._messenger, length, root)
        return self._trees[key]

    def _pairs(self, length: int) -> tuple[Values, Values, Messages]:
        if length not in self._to_all:
            size, rank = self._messenger.size, self._messenger.rank
            sent, received = np.empty((size, length)), np.empty((size, length))
            # Each rank begins with its next one, so that not all of them begin with the same.
            others = [(rank + step) % size for step in range(1, size)]
            messages = self._messenger.persistent(
                sends=[(sent[other], other, _DIRECT) for other in others],
                receives=[(received[other], other, _DIRECT) for other in others],
            )
            self._to_all[length] = (sent, received, messages)
        return self._to_all[length]
