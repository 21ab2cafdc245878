"""The interface of an application, and the context that its ranks run in.

An application's module offers `add_arguments(parser)`, `read_options(arguments)` and a class made of a `JobContext` and
those options; `apps.registry` names the module and the class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from apps.collectives import Collectives, Operation, Reduction
from apps.counters import HostTimes
from apps.messaging import Messenger
from apps.pacing import Pacer
from apps.phase_clock import PhaseClock
from apps.setting import JobSetting
from emulator.model.point_costs import WorkingSet
from emulator.model.units import BYTES_PER_POINT

if TYPE_CHECKING:
    from mpi4py import MPI


class Application(Protocol):
    """One rank's part of an application: set up when made, run by `iterate`, described by `results`."""

    times: HostTimes

    def iterate(self) -> None:
        """Do all the work that is timed.

        Raises:
            RunFailed: at every rank alike, if the problem cannot be solved as asked.
        """
        ...

    def results(self) -> dict[str, object]:
        """Return this application's part of the record. Every rank must call this; rank 0's part is complete."""
        ...


@dataclass(frozen=True, slots=True)
class JobContext:
    """The means of one rank of a job: its messages, its setting and the pacer of its processor.

    Use `communicator` for setting up and for gathering results only; in the loop messages go through the messenger and
    the collectives, which are paced.
    """

    communicator: MPI.Comm
    messenger: Messenger
    collectives: Collectives
    setting: JobSetting
    pacer: Pacer

    @classmethod
    def of_rank(cls, communicator: MPI.Comm, setting: JobSetting, pacer: Pacer) -> JobContext:
        """Make the context of this rank of `communicator`."""
        messenger = Messenger(communicator, setting)
        return cls(communicator, messenger, Collectives(messenger), setting, pacer)

    def duration_s(self, points: int, arrays: int, row_points: int = 0) -> float:
        """Return the emulated seconds in which this rank's processor updates `points` of `arrays` arrays once."""
        working_set = WorkingSet(points, arrays * BYTES_PER_POINT, row_points)
        return self.setting.duration_s(working_set, self.communicator.rank)

    def reduction(self, width: int, operation: Operation = "max") -> Reduction:
        """Make a reduction of `width` values for a loop."""
        return Reduction(self.messenger, width, operation)

    def phase_clock(self, times: HostTimes, reduction: Reduction | None = None) -> PhaseClock:
        """Make the clock of a loop; its iterations meet in `reduction`, if one is given."""
        return PhaseClock(times, self.pacer, self.messenger, reduction, self.setting.sampled)
