"""How a job fails: one sentence from one rank, an exit code that is not zero, and no rank left behind.

A `TestbedError` is met by every rank alike, `check_together` sees to that where only rank 0 can know. Rank 0 says its
sentence and ends, while the others sleep until mpirun, which sees a rank end before MPI has, ends them: none of them is
then amidst a message or in MPI's end, which waits for all. One that sleeps in vain speaks and ends itself. Any other
error is said by the rank that meets it, which ends likewise.

Nobody calls MPI_Abort: what it has mpirun say on a rank's behalf crosses what mpirun itself does to end the job, and
now and then (once in 276 jobs) Open MPI 4.1's mpirun then waits for itself for ever, when all ranks are gone.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from apps.start.ending import EXIT_FAILED
from emulator.model.errors import InvalidInput, RunFailed, TestbedError

if TYPE_CHECKING:
    from mpi4py import MPI

EXIT_INVALID_INPUT: Final = 2

# Longer than mpirun takes to end hundreds of ranks on a busy host.
_OTHERS_WAIT_HOST_S: Final = 60.0


def check_together(communicator: MPI.Comm, complaint: str | None) -> None:
    """Tells all ranks what rank 0 complains of, if anything; every rank must call this, outside of what is timed.

    Raises:
        RunFailed: at every rank alike, if there is a complaint.
    """
    complaint = communicator.bcast(complaint, root=0)
    if complaint is not None:
        raise RunFailed(complaint)


def fail_together(error: TestbedError) -> int:
    """Ends the job for what every rank meets; returns the exit code where this process is all of it."""
    exit_code = EXIT_INVALID_INPUT if isinstance(error, InvalidInput) else EXIT_FAILED
    if _ranks() > 1:
        from apps.start.mpi import world

        if world().rank > 0:
            time.sleep(_OTHERS_WAIT_HOST_S)
        _say_first(str(error))
        _end_job(exit_code)
    else:
        _say(str(error))
    return exit_code


def fail_alone(error: Exception) -> int:
    """Ends the job for what this rank meets, whatever the others do; returns as `fail_together`."""
    rank = os.environ.get("OMPI_COMM_WORLD_RANK", "0")
    _say_first(f"Rank {rank} failed with {type(error).__name__}: {' '.join(str(error).split())}")
    if _ranks() > 1:
        _end_job(EXIT_FAILED)
    return EXIT_FAILED


def _ranks() -> int:
    return int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))


def _end_job(exit_code: int) -> NoReturn:
    """Ends this process without ending MPI, so that mpirun ends the job."""
    os._exit(exit_code)


def _say_first(sentence: str) -> None:
    """Says it if no other rank of this node has failed yet: what several meet, one of them says."""
    if _is_first_to_fail():
        _say(sentence)


def _is_first_to_fail() -> bool:
    """Leaves a mark in the folder that Open MPI's daemon makes for the job on this node, and removes after it."""
    folder = os.environ.get("PMIX_SERVER_TMPDIR")
    if folder is None:
        return True
    try:
        Path(folder, "a-rank-has-failed").touch(exist_ok=False)
    except FileExistsError:
        return False
    except OSError:
        return True
    return True


def _say(sentence: str) -> None:
    """Says why the job fails: to a person on standard error, to the broker as an event."""
    from apps.timeline import report_event

    report_event("failed", reason=sentence)
    sys.stderr.write(sentence + "\n")
    sys.stderr.flush()
