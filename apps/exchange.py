"""The border exchange: each process gives its outer points to its neighbours and receives theirs.

Four consecutive steps - top, bottom, left, right - as the measured application did: in the step *top* a process sends
its top row upwards and receives its lower neighbour's, and so on; a step is over before the next begins. (That a step
sends one way and receives from the other side shows in the study's times by direction on two clusters: in the step
*left* the processes that wait for the wide area are those west of it, which receive.)

The requests are persistent and their buffers fixed, so that an iteration allocates nothing; rows are sent from where
they lie, columns through contiguous buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from apps.grid import Neighbours

if TYPE_CHECKING:
    from mpi4py import MPI

Values = npt.NDArray[np.float64]


@dataclass(slots=True)
class _Step:
    """One direction: copy the outgoing border (if it is not contiguous), start, wait, copy the incoming one."""

    requests: list[Any] = field(default_factory=list)
    outgoing: tuple[Values, Values] | None = None
    incoming: tuple[Values, Values] | None = None


class BorderExchange:
    """Exchanges the borders of one block, whose `values` have one border point on each side."""

    def __init__(self, communicator: MPI.Comm, values: Values, neighbours: Neighbours) -> None:
        from mpi4py import MPI

        self._communicator = communicator
        self._start_all: Callable[[list[Any]], None] = MPI.Prequest.Startall
        self._wait_all: Callable[[list[Any]], Any] = MPI.Request.Waitall
        steps = (
            self._row_step(0, values[-2, 1:-1], neighbours.top, values[0, 1:-1], neighbours.bottom),
            self._row_step(1, values[1, 1:-1], neighbours.bottom, values[-1, 1:-1], neighbours.top),
            self._column_step(2, values[1:-1, 1], neighbours.left, values[1:-1, -1], neighbours.right),
            self._column_step(3, values[1:-1, -2], neighbours.right, values[1:-1, 0], neighbours.left),
        )
        self._steps = [step for step in steps if step.requests]

    def exchange(self) -> None:
        """One border exchange: the four steps, one after the other."""
        for step in self._steps:
            if step.outgoing is not None:
                np.copyto(*step.outgoing)
            self._start_all(step.requests)
            self._wait_all(step.requests)
            if step.incoming is not None:
                np.copyto(*step.incoming)

    def free(self) -> None:
        """Gives the persistent requests back to MPI."""
        for step in self._steps:
            for request in step.requests:
                request.Free()
        self._steps = []

    def _row_step(
        self, tag: int, outgoing: Values, receiver: int | None, incoming: Values, sender: int | None
    ) -> _Step:
        step = _Step()
        if sender is not None:
            step.requests.append(self._communicator.Recv_init(incoming, sender, tag))
        if receiver is not None:
            step.requests.append(self._communicator.Send_init(outgoing, receiver, tag))
        return step

    def _column_step(
        self, tag: int, outgoing: Values, receiver: int | None, incoming: Values, sender: int | None
    ) -> _Step:
        outgoing_buffer, incoming_buffer = np.empty(outgoing.size), np.empty(incoming.size)
        step = self._row_step(tag, outgoing_buffer, receiver, incoming_buffer, sender)
        if receiver is not None:
            step.outgoing = (outgoing_buffer, outgoing)
        if sender is not None:
            step.incoming = (incoming, incoming_buffer)
        return step
