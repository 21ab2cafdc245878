"""Parallel programs on non-dedicated clusters: the NAS benchmarks of the 3DBackfilling paper, as parameters.

The paper prints a range of memory, processor share and execution time for each program, and job sizes of 2, 4 and 8
tasks. This is read as follows: with more tasks, a fixed problem needs less memory per task and less time, and
communicates more. So 2 tasks have the upper end of each range, 8 the lower, and 4 their geometric mean.

A program is a number of equal steps. In each, a task computes, sends its messages, and waits for those of its partners.
The messages are so large that a task that has its processor and its network interface to itself computes for exactly
the stated share of the time. The patterns are those of the NAS benchmarks in outline (`apps.partners`). The steps
follow the benchmarks too, for class B: a step is three of the 75 x 25 inner iterations of CG, one of the 10 iterations
of IS, one of about 12 exchanges in each of the 20 cycles of MG, and three of the six sweeps in each of the 200
iterations of BT.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from apps.partners import PATTERNS
from emulator.model.errors import InvalidInput, UnknownName


@dataclass(frozen=True, slots=True)
class Between:
    """A published range: its lower end is read as that of 8 tasks, its upper end as that of 2."""

    low: float
    high: float

    def of(self, tasks: int) -> float:
        """Return the value for a number of tasks, geometrically between the ends and never beyond them."""
        towards_high = min(1.0, max(0.0, (3.0 - math.log2(tasks)) / 2.0))
        return float(self.low * (self.high / self.low) ** towards_high)


@dataclass(frozen=True, slots=True)
class Program:
    """A program: its pattern, its steps, and the published ranges."""

    name: str
    pattern: str
    steps: int
    memory_mb: Between
    processor_percent: Between
    execution_s: Between


PROGRAMS: Final = {
    program.name: program
    for program in (
        Program("cg", "pairs", 625, Between(55, 120), Between(67, 75), Between(37, 51)),
        Program("is", "all-to-all", 10, Between(70, 260), Between(58, 69), Between(40, 205)),
        Program("mg", "ring", 240, Between(60, 220), Between(82, 89), Between(26, 240)),
        Program("bt", "sweep", 400, Between(7, 60), Between(85, 93), Between(90, 180)),
    )
}

SIZES: Final = (2, 4, 8)
"""The numbers of tasks of the paper's jobs."""


def program_named(name: str) -> Program:
    """Return the program of that name, whatever its case.

    Raises:
        UnknownName: if there is none.
    """
    program = PROGRAMS.get(name.lower())
    if program is None:
        raise UnknownName.among("program", name, list(PROGRAMS))
    return program


@dataclass(frozen=True, slots=True)
class Steps:
    """The work of a job's tasks: `steps` times, compute for `compute_s` and exchange for `exchange_s`, if alone.

    Raises:
        InvalidInput: if a value is out of range.
    """

    pattern: str
    steps: int
    compute_s: float
    exchange_s: float

    def __post_init__(self) -> None:
        if self.pattern not in PATTERNS:
            raise InvalidInput(f"pattern: there is no {self.pattern!r} (known: {', '.join(PATTERNS)}).")
        if self.steps < 1:
            raise InvalidInput(f"steps: must be at least 1, not {self.steps}.")
        for name, value in (("compute_s", self.compute_s), ("exchange_s", self.exchange_s)):
            if not 0.0 <= value < math.inf:
                raise InvalidInput(f"{name}: must be finite and not negative, not {value!r}.")

    @property
    def execution_s(self) -> float:
        """The execution time of a job that shares nothing."""
        return self.steps * (self.compute_s + self.exchange_s)


def steps_of(pattern: str, steps: int, execution_s: float, processor_share: float) -> Steps:
    """Return the steps of a job that alone takes `execution_s` and computes for `processor_share` of it."""
    return Steps(
        pattern,
        steps,
        execution_s * processor_share / max(1, steps),
        execution_s * (1.0 - processor_share) / max(1, steps),
    )
