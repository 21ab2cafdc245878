"""How fast tasks that share a processor advance on average, from the share of it that each wants when alone.

A task that alone computes for the share u of its time and waits for messages for the rest goes through a cycle of
processor time u and other time 1 - u. Tasks on one processor are the customers of a closed queueing network of one
server and such waits, solved as by Bard and Schweitzer: the processor part of a cycle takes u times one plus the mean
number of other tasks that want the processor. Local users count as one more task. The result needs no time-sharing rule
and no knowledge of messages, so it is an estimate for planning ahead; its error is measured, not assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

CLOSE_ENOUGH: Final = 1e-9
MOST_ROUNDS: Final = 200


def mean_rates(shares: Sequence[float], local_share: float = 0.0) -> tuple[float, ...]:
    """Return the speed of each task of a processor relative to its speed alone, in the order of `shares`.

    `shares` holds the share of the processor that each task uses when alone, above 0 and at most 1; `local_share` that
    of the local users.
    """
    wanted = [*shares, local_share] if local_share > 0.0 else list(shares)
    queued = list(wanted)
    cycles = [1.0] * len(wanted)
    for _ in range(MOST_ROUNDS):
        everyone = sum(queued)
        change = 0.0
        for index, share in enumerate(wanted):
            at_processor = share * (1.0 + everyone - queued[index])
            cycles[index] = 1.0 - share + at_processor
            now_queued = at_processor / cycles[index]
            change = max(change, abs(now_queued - queued[index]))
            everyone += now_queued - queued[index]
            queued[index] = now_queued
        if change < CLOSE_ENOUGH:
            break
    return tuple(min(1.0, 1.0 / cycle) for cycle in cycles[: len(shares)])
