"""The work of a local user: thinks, and asks for a burst of processor time, in turn, both exponentially distributed."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LocalWork:
    """A local user's mean processor time of a burst, and mean time until the next; `numbers` draws them."""

    burst_s: float
    think_s: float
    numbers: random.Random

    def draw_burst_s(self) -> float:
        """Draw the processor time of the next burst."""
        return self.numbers.expovariate(1.0 / self.burst_s)

    def draw_think_s(self) -> float:
        """Draw the time until the next burst."""
        return self.numbers.expovariate(1.0 / self.think_s)

    def draw_first_s(self) -> float:
        """Draw the time until the first burst that somebody meets who comes at any moment: 0 if one is under way."""
        is_busy = self.numbers.random() < self.burst_s / (self.burst_s + self.think_s)
        return 0.0 if is_busy else self.draw_think_s()


@dataclass(frozen=True, slots=True)
class Burst:
    """A burst of a local user: its processor time, its end, and its delay beyond that time.

    `beside` is the number of parallel tasks on the node when it was asked for.
    """

    end_s: float
    processor_s: float
    delay_s: float
    beside: int
