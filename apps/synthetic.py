"""A synthetic application whose computation, communication pattern, message sizes and global sums are parameters.

The measurement study on DAS-2 asks for such an application in its conclusion, to see which of these parameters make
co-allocation worthwhile. An iteration is a compute phase, then the messages of the pattern, all at once, then - in
every `--collective-every` iterations - a sum over all ranks of `--collective-bytes`, to which the emulation adds three
numbers. Messages are real and their content is checked: it identifies sender, receiver and iteration (`content`).

Patterns: `neighbours`, as Poisson's border exchange on its process grid; `all-to-all`, a message from every rank to
every other; `master-worker`, a message from every other rank to rank 0, and its answer to each when all have come;
`pairs`, `ring` and `sweep` as in `apps.partners`, of which the first and the last change from iteration to iteration;
`none`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from apps.application import JobContext
from apps.content import CheckedMessages, CheckedSum
from apps.counters import HostTimes
from apps.grid import ProcessGrid
from apps.messaging import Messages
from apps.pacing import Phase
from apps.partners import partners, pattern_period
from apps.registry import SYNTHETIC, SYNTHETIC_MESSAGE_BYTES
from emulator.model.errors import InvalidInput, RunFailed

Pattern = Literal["neighbours", "all-to-all", "master-worker", "pairs", "ring", "sweep", "none"]
PATTERNS: tuple[Pattern, ...] = get_args(Pattern)
BYTES_PER_VALUE = 8


@dataclass(frozen=True, slots=True)
class SyntheticOptions:
    """Options of the application: the computation of each process in an iteration is stated either as emulated
    seconds or as grid-point updates; `collective_every` is None if there are no sums.

    Raises:
        InvalidInput: if a value is out of range.
    """

    iterations: int
    compute_s: float | None
    points: int | None
    pattern: Pattern
    message_bytes: int
    collective_every: int | None
    collective_bytes: int

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise InvalidInput(f"--iterations must be at least 1, not {self.iterations}.")
        if (self.compute_s is None) == (self.points is None):
            raise InvalidInput("State what a process computes in an iteration: either --compute-s or --points.")
        if self.compute_s is not None and not 0.0 < self.compute_s < math.inf:
            raise InvalidInput(f"--compute-s must be a positive number of emulated seconds, not {self.compute_s}.")
        if self.points is not None and self.points < 1:
            raise InvalidInput(f"--points must be at least 1 grid point, not {self.points}.")
        if self.collective_every is not None and self.collective_every < 1:
            raise InvalidInput(
                f"--collective-every must be at least 1 iteration, not {self.collective_every}: omit it for none."
            )
        for name, size_bytes in (("message", self.message_bytes), ("collective", self.collective_bytes)):
            if size_bytes < BYTES_PER_VALUE or size_bytes % BYTES_PER_VALUE:
                raise InvalidInput(
                    f"--{name}-bytes must be a positive multiple of {BYTES_PER_VALUE}, the bytes of a number,"
                    f" not {size_bytes}."
                )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the application's own options to the command line."""
    add = parser.add_argument
    add("--iterations", type=int, default=SYNTHETIC.default_length, metavar="N", help="iterations (%(default)s)")
    add("--compute-s", type=float, metavar="S", help="emulated seconds that a process computes in an iteration")
    add("--points", type=int, metavar="P", help="or: grid points that a process updates, as Poisson does")
    add("--pattern", choices=PATTERNS, default="neighbours", help="who sends to whom (%(default)s)")
    add("--message-bytes", type=int, default=SYNTHETIC_MESSAGE_BYTES, metavar="B",
        help="size of each message (%(default)s)")  # fmt: skip
    add("--collective-every", type=int, metavar="N", help="sum over all ranks in every Nth iteration (never)")
    add("--collective-bytes", type=int, default=8, metavar="B", help="size of what is summed (%(default)s)")


def read_options(arguments: argparse.Namespace) -> SyntheticOptions:
    """Read the application's options from the parsed command line.

    Raises:
        InvalidInput: as `SyntheticOptions`, or if unpaced processors are to compute for a time.
    """
    if arguments.native and arguments.compute_s is not None:
        raise InvalidInput("--compute-s needs paced processors: state the computing of native ones in --points.")
    return SyntheticOptions(
        arguments.iterations,
        arguments.compute_s,
        arguments.points,
        arguments.pattern,
        arguments.message_bytes,
        arguments.collective_every,
        arguments.collective_bytes,
    )


@dataclass(frozen=True, slots=True)
class Round:
    """Messages that go at once: the ranks that a rank sends to, and those that it receives from."""

    receivers: tuple[int, ...]
    senders: tuple[int, ...]


def rounds_of(pattern: Pattern, rank: int, size: int) -> tuple[tuple[Round, ...], ...]:
    """Return the rounds of messages of `rank` of `size` for as many iterations as it takes until they repeat.

    A round waits for the one before.
    """
    if pattern == "none" or size == 1:
        return ((),)
    if pattern == "master-worker":
        others = tuple(range(1, size))
        ask, answer = Round((0,), ()), Round((), (0,))
        return ((ask, answer) if rank > 0 else (Round((), others), Round(others, ())),)
    if pattern == "neighbours":
        beside = ProcessGrid.of_processes(size).neighbours(rank)
        near = tuple(other for other in (beside.top, beside.bottom, beside.left, beside.right) if other is not None)
        return ((Round(near, near),),)
    return tuple((Round(*partners(pattern, rank, step, size)),) for step in range(pattern_period(pattern, size)))


@dataclass(frozen=True, slots=True)
class _CheckedRound:
    content: CheckedMessages
    messages: Messages

    def run(self, iteration: int) -> None:
        self.content.fill(iteration)
        self.messages.run()
        self.content.check(iteration)


class Synthetic:
    """One rank's part of the application."""

    def __init__(self, job: JobContext, options: SyntheticOptions) -> None:
        self._options, self._communicator = options, job.communicator
        rank, size = job.communicator.rank, job.communicator.size
        self._rounds = [
            [self._make_round(job, number, exchanged) for number, exchanged in enumerate(rounds)]
            for rounds in rounds_of(options.pattern, rank, size)
        ]
        values = options.collective_bytes // BYTES_PER_VALUE
        self._sum, self._reduction = CheckedSum(rank, size, values), job.reduction(values, "sum")
        self._update, self._phase = self._choose_computation(job)
        self.times = HostTimes()
        self._clock = job.phase_clock(self.times, self._reduction)

    def iterate(self) -> None:
        """Compute, exchange and sum for all iterations."""
        clock, every = self._clock, self._options.collective_every
        clock.begin()
        for iteration in range(1, self._options.iterations + 1):
            clock.compute(self._update, self._phase)
            for exchanged in self._rounds[(iteration - 1) % len(self._rounds)]:
                exchanged.run(iteration)
            clock.end_exchange()
            if every is not None and iteration % every == 0:
                self._sum.fill(iteration)
                self._sum.check(iteration, self._reduction.reduce(self._sum.given))
                clock.end_reduction()
            clock.end_iteration()
        clock.end()

    def results(self) -> dict[str, object]:
        """Return this application's part of the record. Every rank must call this; rank 0's part is complete.

        `messages` and `message_bytes_sent` count those of the pattern at all ranks in the whole run.

        Raises:
            RunFailed: at every rank alike, if a message or a sum was not what it should have been.
        """
        exchanges = [exchanged for rounds in self._rounds for exchanged in rounds]
        mistaken = sum(exchanged.content.mistaken for exchanged in exchanges)
        counts = self._communicator.allgather((self._messages_sent(), mistaken, self._sum.mistaken))
        for exchanged in exchanges:
            exchanged.messages.free()
        self._reduction.free()
        messages, mistaken_messages, mistaken_sums = (sum(column) for column in zip(*counts, strict=True))
        if mistaken_messages or mistaken_sums:
            raise RunFailed(
                f"{mistaken_messages} of {messages} messages and {mistaken_sums} sums had another content than"
                " their senders gave them: the exchange of this job is not to be trusted."
            )
        options = self._options
        return {
            "pattern": options.pattern,
            "compute_per_iteration_s": options.compute_s,
            "points": options.points,
            "message_bytes": options.message_bytes,
            "collective_every": options.collective_every,
            "collective_bytes": options.collective_bytes,
            "messages": messages,
            "message_bytes_sent": messages * options.message_bytes,
        }

    def _messages_sent(self) -> int:
        """Count the messages that this rank sent in all iterations."""
        of_step = [sum(len(exchanged.content.outgoing) for exchanged in rounds) for rounds in self._rounds]
        whole, rest = divmod(self._options.iterations, len(of_step))
        return whole * sum(of_step) + sum(of_step[:rest])

    def _make_round(self, job: JobContext, number: int, exchanged: Round) -> _CheckedRound:
        length = self._options.message_bytes // BYTES_PER_VALUE
        rank, size = job.communicator.rank, job.communicator.size
        content = CheckedMessages(rank, size, exchanged.receivers, exchanged.senders, length)
        messages = job.messenger.persistent(
            sends=[(row, other, number) for row, other in zip(content.outgoing, exchanged.receivers, strict=True)],
            receives=[(row, other, number) for row, other in zip(content.incoming, exchanged.senders, strict=True)],
        )
        return _CheckedRound(content, messages)

    def _choose_computation(self, job: JobContext) -> tuple[Callable[[], object], Phase]:
        """Return what a process really computes, and the phase that it takes on the emulated processor.

        Stated in points, the work is Poisson's update of a block of that size; stated in seconds, it is only a time.
        """
        if self._options.compute_s is not None:
            return _compute_nothing, job.pacer.phase(self._options.compute_s)
        from apps.kernels.red_black import RedBlackUpdate

        points = self._options.points or 1
        shape = ProcessGrid.of_processes(points)
        values, source = (np.zeros((shape.rows + 2, shape.columns + 2)) for _ in range(2))
        source[1:-1, 1:-1] = 1.0
        return RedBlackUpdate(values, source, True).update, job.pacer.phase(job.duration_s(points, arrays=1))


def _compute_nothing() -> None:
    """Do nothing: the real work of a phase that is stated as time."""
