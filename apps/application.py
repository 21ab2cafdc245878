"""What an application is to the rest of `apps`, and what it is given to run with.

An application's module offers `add_arguments(parser)`, `read_options(arguments)` and a class made of a `JobContext` and
those options; the table in `apps.run` names the module and the class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from apps.collectives import Collectives, Operation, Reduction
from apps.messaging import Messenger
from apps.pacing import Pacer
from apps.record import JobSetting
from apps.timeline import HostTimes, PhaseClock

if TYPE_CHECKING:
    from mpi4py import MPI


class Application(Protocol):
    """One rank's part of an application: set up when made, run by `iterate`, described by `results`."""

    times: HostTimes

    def iterate(self) -> None:
        """Does all the work that is timed.

        Raises:
            RunFailed: at every rank alike, if the problem cannot be solved as asked.
        """
        ...

    def results(self) -> dict[str, object]:
        """What this application adds to the record; every rank must call this, rank 0's is complete."""
        ...


@dataclass(frozen=True, slots=True)
class JobContext:
    """What one rank of a job has: its messages, its setting, and what paces its processor.

    `communicator` is for setting up and for gathering results; in the loop messages go through the messenger and the
    collectives, which are paced.
    """

    communicator: MPI.Comm
    messenger: Messenger
    collectives: Collectives
    setting: JobSetting
    pacer: Pacer

    @classmethod
    def of_rank(cls, communicator: MPI.Comm, setting: JobSetting, pacer: Pacer) -> JobContext:
        """The context of this rank of `communicator`."""
        messenger = Messenger(communicator, setting)
        return cls(communicator, messenger, Collectives(messenger), setting, pacer)

    def reduction(self, width: int, operation: Operation = "max") -> Reduction:
        """A reduction of `width` values for a loop."""
        return Reduction(self.messenger, width, operation)

    def phase_clock(self, times: HostTimes, reduction: Reduction | None = None) -> PhaseClock:
        """The clock of a loop whose iterations meet in `reduction`, if they do."""
        return PhaseClock(times, self.pacer, self.messenger, reduction)
