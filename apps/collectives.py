"""Collective operations of all ranks, built on the messenger and therefore paced like every other message.

Values are collected and distributed along the tree of `apps.tree`, inside each cluster first. Every rank must call, in
the same order. The loop of an application uses a `Reduction`, whose messages are persistent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from apps.messaging import Messages, Messenger, flat
from apps.tree import place_in_tree

Values = npt.NDArray[np.float64]
Operation = Literal["sum", "max"]

# Tags above those that applications use.
_COLLECT, _DISTRIBUTE, _DIRECT = 20_001, 20_002, 20_003


class _TreeMessages:
    """Messages along the tree for arrays of one length: `values` of this rank, `collected` of those below it."""

    def __init__(self, messenger: Messenger, length: int, root: int) -> None:
        from apps.kernels.messages import combine

        place = place_in_tree(messenger.rank, messenger.cluster_of, root, pattern=messenger.pattern)
        self.values = np.zeros(length)
        self._collected = np.zeros((len(place.children), length))
        self._combine: Callable[[Values, Values, int], None] = combine
        below = list(zip(self._collected, place.children, strict=True))
        learnt = [] if place.parent is None else [(self.values, place.parent, _DISTRIBUTE)]
        reported = [] if place.parent is None else [(self.values, place.parent, _COLLECT)]
        persistent = messenger.persistent
        # In one set, so that a rank sleeps once from its report to the answer.
        self._report_and_learn = persistent(sends=reported, receives=learnt) if learnt else None
        self._learn = persistent(receives=learnt) if learnt else None
        self._collect = persistent(receives=[(row, child, _COLLECT) for row, child in below]) if below else None
        self._distribute = (
            persistent(sends=[(self.values, child, _DISTRIBUTE) for _, child in below]) if below else None
        )

    def reduce(self, added: int) -> None:
        """Reduce all ranks' `values`: the first `added` elements to their sums, the others to their largest."""
        if self._collect is not None:
            self._collect.run()
            self._combine(self.values, self._collected, added)
        if self._report_and_learn is not None:
            self._report_and_learn.run()
        if self._distribute is not None:
            self._distribute.run()

    def broadcast(self) -> None:
        """Pass the root's `values` on to every rank."""
        if self._learn is not None:
            self._learn.run()
        if self._distribute is not None:
            self._distribute.run()

    def free(self) -> None:
        """Give the messages back to MPI."""
        for messages in (self._collect, self._report_and_learn, self._learn, self._distribute):
            if messages is not None:
                messages.free()


class Reduction:
    """The reduction of a loop: a few values of each rank, collected at rank 0 and distributed to all.

    Three values that concern the emulation travel with them in `carried`: set before a reduction, it holds the largest
    of each over all ranks afterwards.
    """

    def __init__(self, messenger: Messenger, width: int, operation: Operation = "max") -> None:
        self._tree = _TreeMessages(messenger, width + 3, root=0)
        self._added = width if operation == "sum" else 0
        self._values = self._tree.values[:width]
        self.carried: Values = self._tree.values[width:]

    def reduce(self, values: Sequence[float] | Values) -> Values:
        """Return the sum or the largest of each of `values` over all ranks; the next reduction overwrites it."""
        self._values[:] = values
        self._tree.reduce(self._added)
        return self._values

    def free(self) -> None:
        """Give the messages back to MPI."""
        self._tree.free()


class Collectives:
    """Barrier, broadcast, scatter, gather, reductions and all-to-all of float64 arrays of any shape."""

    def __init__(self, messenger: Messenger) -> None:
        self._messenger = messenger
        self._trees: dict[tuple[int, int], _TreeMessages] = {}
        self._to_all: dict[int, tuple[Values, Values, Messages]] = {}

    def barrier(self) -> None:
        """Wait until every rank has called this."""
        self.all_reduce(np.zeros(1), "max")

    def broadcast(self, values: Values, root: int = 0) -> None:
        """Fill a contiguous array at every rank with the root's."""
        tree, elements = self._tree(values.size, root), flat(values)
        if self._messenger.rank == root:
            tree.values[:] = elements
        tree.broadcast()
        elements[:] = tree.values

    def scatter(self, blocks: Sequence[Values] | None, mine: Values, root: int = 0) -> None:
        """Fill each rank's contiguous `mine` with its own of the root's contiguous `blocks`, one for each rank."""
        if self._messenger.rank != root:
            self._messenger.receive(mine, root, _DIRECT)
        elif blocks is not None:
            mine[...] = blocks[root]
            others = [other for other in range(self._messenger.size) if other != root]
            self._messenger.exchange(sends=[(flat(blocks[other]), other, _DIRECT) for other in others])

    def gather(self, mine: Values, blocks: Sequence[Values] | None, root: int = 0) -> None:
        """Fill the root's contiguous `blocks`, one for each rank, with the contiguous `mine` of each rank."""
        if self._messenger.rank != root:
            self._messenger.send(mine, root, _DIRECT)
        elif blocks is not None:
            blocks[root][...] = mine
            others = [other for other in range(self._messenger.size) if other != root]
            self._messenger.exchange(receives=[(flat(blocks[other]), other, _DIRECT) for other in others])

    def all_reduce(self, values: Values, operation: Operation = "sum") -> Values:
        """Return the sum or the largest of each element over all ranks, the same bits at every rank."""
        tree = self._tree(values.size, 0)
        tree.values[:] = values.reshape(-1)
        tree.reduce(values.size if operation == "sum" else 0)
        return tree.values.reshape(values.shape).copy()

    def all_to_all(self, outgoing: Values) -> Values:
        """Send row r of `outgoing` to rank r; return an array whose row s came from rank s."""
        sent, received, messages = self._pairs(outgoing.shape[1])
        sent[...] = outgoing
        messages.run()
        received[self._messenger.rank] = outgoing[self._messenger.rank]
        return received.copy()

    def free(self) -> None:
        """Give all messages back to MPI."""
        for tree in self._trees.values():
            tree.free()
        for _, _, messages in self._to_all.values():
            messages.free()
        self._trees, self._to_all = {}, {}

    def _tree(self, length: int, root: int) -> _TreeMessages:
        key = (length, root)
        if key not in self._trees:
            self._trees[key] = _TreeMessages(self._messenger, length, root)
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
