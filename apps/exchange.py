"""The border exchange: each process sends its outer points to its neighbours and receives theirs.

As published, four consecutive steps - top, bottom, left, right: in the step *top* a process sends its top row upwards
and receives its lower neighbour's, and so on; a step is over before the next begins. (That a step sends one way and
receives from the other side shows in the study's times by direction on two clusters: in the step *left* the processes
that wait for the wide area are those west of it, which receive.) Or overlapped, as the study's conclusion suggests: all
four at once, which gives the same values sooner.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
import numpy.typing as npt

from apps.counters import HostTimes
from apps.descriptor import ExchangeMode
from apps.grid import Neighbours
from apps.messaging import Incoming, Messenger, Outgoing

Values = npt.NDArray[np.float64]
DIRECTIONS = ("top", "bottom", "left", "right")


class BorderExchange:
    """An exchange of the borders of one block, whose `values` have one border point on each side.

    `durations_ns` is the host time of all exchanges so far, by direction or as one total; `points` is the number of
    points sent and received together in one exchange.
    """

    def __init__(
        self, messenger: Messenger, values: Values, neighbours: Neighbours, mode: ExchangeMode = "steps"
    ) -> None:
        steps = _steps(values, neighbours)
        if mode == "overlapped":
            sends, receives = zip(*steps.values(), strict=True)
            steps = {"total": (list(chain(*sends)), list(chain(*receives)))}
        self.points = sum(view.size for sends, receives in steps.values() for view, _, _ in (*sends, *receives))
        self.durations_ns = np.zeros(len(steps), dtype=np.int64)
        self._directions = tuple(steps)
        self._messages = [messenger.persistent(sends, receives) for sends, receives in steps.values()]
        self.exchange = messenger.in_turn(self._messages, self.durations_ns)
        """One border exchange: the four steps, one after the other, or all of them at once."""

    def describe(self, times: HostTimes) -> None:
        """Add the durations of the exchanges, and the points that each moved, to the times of the loop."""
        times.border_exchange_ns = dict(zip(self._directions, self.durations_ns.tolist(), strict=True))
        times.border_exchange_points = self.points

    def free(self) -> None:
        """Give the messages back to MPI."""
        for messages in self._messages:
            messages.free()
        self._messages.clear()


def _steps(values: Values, beside: Neighbours) -> dict[str, tuple[list[Outgoing], list[Incoming]]]:
    """Return what each step sends and receives: nothing at an edge of the unit square."""
    borders = (
        (values[-2, 1:-1], beside.top, values[0, 1:-1], beside.bottom),
        (values[1, 1:-1], beside.bottom, values[-1, 1:-1], beside.top),
        (values[1:-1, 1], beside.left, values[1:-1, -1], beside.right),
        (values[1:-1, -2], beside.right, values[1:-1, 0], beside.left),
    )
    steps = {}
    for tag, (direction, (outgoing, receiver, incoming, sender)) in enumerate(zip(DIRECTIONS, borders, strict=True)):
        sends = [] if receiver is None else [(outgoing, receiver, tag)]
        receives = [] if sender is None else [(incoming, sender, tag)]
        steps[direction] = (sends, receives)
    return steps
