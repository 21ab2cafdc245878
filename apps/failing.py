"""How a job fails: one sentence from one rank, an exit code that is not zero, and no rank left behind.

Every rank raises the same `TestbedError`; `check_together` passes on what only rank 0 can know. Rank 0 prints the
sentence and ends, while the others sleep. mpirun notices that a rank ended before MPI did, and ends the others: so none
of them is in the middle of a message or in MPI's finalization, which waits for all. A rank that mpirun does not end in
time prints the sentence and ends itself. Any other error is printed by the rank that raises it, which ends in the same
way.

MPI_Abort is not used: the message that it sends to mpirun can collide with mpirun's own ending of the job, and in one
of 276 jobs Open MPI 4.1's mpirun then hung after all ranks had ended.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from apps.start.mpi import EXIT_FAILED, wait_asleep
from emulator.model.errors import InvalidInput, RunFailed, TestbedError

if TYPE_CHECKING:
    from mpi4py import MPI

EXIT_INVALID_INPUT: Final = 2

# Longer than mpirun takes to end hundreds of ranks on a busy host.
_OTHERS_WAIT_HOST_S: Final = 60.0
_SENTENCE_BYTES: Final = 4096


def check_together(communicator: MPI.Comm, complaint: str | None) -> None:
    """Tell all ranks rank 0's complaint, if any. Every rank must call this, after the finish barrier.

    Ranks wait asleep, since rank 0 may have much to do before it calls this.

    Raises:
        RunFailed: at every rank alike, if there is a complaint.
    """
    sentence = bytearray((complaint or "").encode()[:_SENTENCE_BYTES].ljust(_SENTENCE_BYTES, b"\0"))
    wait_asleep(communicator.Ibcast(sentence, root=0))
    told = sentence.rstrip(b"\0").decode(errors="replace")
    if told:
        raise RunFailed(told)


def fail_together(error: TestbedError) -> int:
    """End the job for an error that every rank raises; return the exit code if this process is the whole job."""
    exit_code = EXIT_INVALID_INPUT if isinstance(error, InvalidInput) else EXIT_FAILED
    if _ranks() > 1:
        from apps.start.mpi import world

        if world().rank > 0:
            time.sleep(_OTHERS_WAIT_HOST_S)
        _report_if_first(str(error))
        _end_job(exit_code)
    else:
        _report(str(error))
    return exit_code


def fail_alone(error: Exception) -> int:
    """End the job for an error of this rank alone; return as `fail_together` does."""
    rank = os.environ.get("OMPI_COMM_WORLD_RANK", "0")
    _report_if_first(f"Rank {rank} failed with {type(error).__name__}: {' '.join(str(error).split())}")
    if _ranks() > 1:
        _end_job(EXIT_FAILED)
    return EXIT_FAILED


def end_silently() -> NoReturn:
    """End this process of a job that is being ended: mpirun, or the broker that has gone, knows why."""
    _end_job(EXIT_FAILED)


def _ranks() -> int:
    return int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))


def _end_job(exit_code: int) -> NoReturn:
    """End this process without ending MPI, so that mpirun ends the job."""
    os._exit(exit_code)


def _report_if_first(sentence: str) -> None:
    """Print the sentence if no other rank of this node has failed yet, so that only one of them prints it."""
    if _is_first_to_fail():
        _report(sentence)


def _is_first_to_fail() -> bool:
    """Leave a mark in the folder that Open MPI's daemon makes for the job on this node and removes afterwards."""
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


def _report(sentence: str) -> None:
    """Report why the job fails: to people on standard error, to the broker as an event."""
    from apps.timeline import report_event

    report_event("failed", reason=sentence)
    sys.stderr.write(sentence + "\n")
    sys.stderr.flush()
