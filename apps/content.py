"""Message content that identifies its origin, so that a lost, late, torn or misdirected message is noticed.

The values of a message count upwards from a number that only its iteration, sender and receiver have. All are whole
numbers that a float64 holds exactly, and so are their sums over the ranks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

# Iterations are told apart modulo this prime, which keeps every number exact for any number of ranks that fits a host.
_ITERATIONS = 65_521


class CheckedMessages:
    """Fixed buffers, one row for each message that a rank sends and one for each that it receives.

    `mistaken` counts the messages whose content was not the expected one.
    """

    def __init__(self, rank: int, size: int, receivers: Sequence[int], senders: Sequence[int], length: int) -> None:
        self.outgoing: Values = np.zeros((len(receivers), length))
        self.incoming: Values = np.zeros((len(senders), length))
        self.mistaken = 0
        count = np.arange(length, dtype=np.float64)
        sends = np.array([rank * size + receiver for receiver in receivers], dtype=np.float64)
        receives = np.array([sender * size + rank for sender in senders], dtype=np.float64)
        # Messages of one iteration are a message's length apart, those of two iterations all messages.
        self._sent = sends[:, None] * length + count
        self._expected = receives[:, None] * length + count
        self._difference = np.empty_like(self.incoming)
        self._apart = float(size * size * length)

    def fill(self, iteration: int) -> None:
        """Write what this rank sends in an iteration."""
        np.add(self._sent, iteration % _ITERATIONS * self._apart, out=self.outgoing)

    def check(self, iteration: int) -> None:
        """Count the messages whose content is not what their senders wrote in this iteration."""
        np.subtract(self.incoming, self._expected, out=self._difference)
        np.subtract(self._difference, iteration % _ITERATIONS * self._apart, out=self._difference)
        if self._difference.any():
            self.mistaken += int(np.count_nonzero(self._difference.any(axis=1)))


class CheckedSum:
    """A rank's contribution to a sum over all ranks, and a check of the sum."""

    def __init__(self, rank: int, size: int, length: int) -> None:
        self.given: Values = np.zeros(length)
        self.mistaken = 0
        count = np.arange(length, dtype=np.float64)
        self._mine = count + rank
        self._all = size * count + size * (size - 1) // 2
        self._size = size

    def fill(self, iteration: int) -> None:
        """Write this rank's contribution in an iteration."""
        np.add(self._mine, iteration % _ITERATIONS, out=self.given)

    def check(self, iteration: int, total: Values) -> None:
        """Count the sum as mistaken if it is not that of all ranks' contributions."""
        if not np.array_equal(total, self._all + self._size * (iteration % _ITERATIONS)):
            self.mistaken += 1
