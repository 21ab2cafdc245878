"""One rank of the resident MPI world: it runs one job after another, each with ranks 0 to n-1 in a new communicator.

`tests.live.resident_world` copies this file into the node container and starts it as every rank of one `mpirun`. A rank
waits in `recv` on a Unix socket, so that waiting costs no CPU. Jobs and answers are JSON documents, one a line:

- A job has `processes` and either `arguments`, the command line for `apps.run.main`, or `program`, Python source that
  sees its communicator as `communicator`.
- An answer has `output`, what the rank printed; `left`, what the job left behind in the process; and `failure`, null
  or the `kind` of the exception, its `sentence` and its `traceback`.
"""

import sys

from apps.start.mpi import use_one_thread

use_one_thread()

import contextlib  # noqa: E402 - the modules imported from here on read the environment
import ctypes  # noqa: E402
import gc  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import socket  # noqa: E402
import traceback  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, NoReturn  # noqa: E402

from apps import run as entry  # noqa: E402
from apps.precedence import at_low_priority  # noqa: E402
from apps.start import mpi, preparation  # noqa: E402

mpi.load()

from mpi4py import MPI  # noqa: E402

_PR_SET_TIMERSLACK = 29
_USUAL_TIMER = 0
_SHARED_MEMORY = Path("/dev/shm")


def main(address: str) -> None:
    """Take jobs from the socket at `address` until it closes."""
    world = at_low_priority(mpi.world)
    preparation.import_all(())
    gc.collect()
    gc.freeze()
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    with connection.makefile("rw") as stream:
        stream.write(json.dumps({"rank": world.rank}) + "\n")
        stream.flush()
        for line in stream:
            stream.write(json.dumps(answer(world, json.loads(line))) + "\n")
            stream.flush()
    # The process ends without MPI_Finalize, which would wait for ranks that still run a job.
    os._exit(0)


def answer(world: MPI.Intracomm, job: dict[str, Any]) -> dict[str, Any]:
    """Run this rank's part of a job; return what it printed, how it failed and what it left behind."""
    preparation.import_all(job.get("arguments", ())[:1])
    before = holdings()
    communicator = world.Create_group(world.group.Range_incl([(0, job["processes"] - 1, 1)]))
    failure, left = None, []
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            perform(communicator, job)
        except BaseException as error:
            sentence, trace = str(error), traceback.format_exc()
            failure = {"kind": type(error).__name__, "sentence": sentence, "traceback": trace}
    if failure is None:
        left = release(communicator)
    # Otherwise the communicator is not freed: the next one would get its number, and messages still in transit.
    reset_process()
    left += [name for name, held in holdings().items() if failure is None and held != before[name]]
    return {"output": printed.getvalue(), "failure": failure, "left": left}


def perform(communicator: MPI.Intracomm, job: dict[str, Any]) -> None:
    """Run an application as a separate process would, but on `communicator`; or run the job's program."""
    mpi.world = lambda: communicator
    entry.fail_together = entry.fail_alone = raise_again
    if "program" in job:
        exec(job["program"], {"__name__": "program", "communicator": communicator})
    else:
        entry.main(job["arguments"])


def raise_again(error: Exception) -> NoReturn:
    """Raise the failure for the world to handle; a separate process would end here."""
    raise error


def release(communicator: MPI.Intracomm) -> list[str]:
    """Free a job's communicator; if it holds a message that no rank received, keep it and return a complaint."""
    communicator.Barrier()
    if communicator.allreduce(communicator.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG), MPI.LOR):
        return ["a message"]
    communicator.Free()
    return []


def reset_process() -> None:
    """Undo the changes that a job makes to its process on purpose; usually the process ends with the job."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(_USUAL_TIMER), 0, 0, 0)
    gc.collect()


def holdings() -> dict[str, object]:
    """Return, by name, everything that a job could leave behind in this process and on this node."""
    maps = Path("/proc/self/maps").read_text()
    return {
        "open files": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "threads": sum(1 for _ in Path("/proc/self/task").iterdir()),
        "doorbells in memory": maps.count("doorbells-"),
        "doorbells in /dev/shm": sorted(path.name for path in _SHARED_MEMORY.glob("doorbells-*")),
        "garbage collection": gc.isenabled(),
        "environment": dict(os.environ),
        "working directory": str(Path.cwd()),
    }


if __name__ == "__main__":
    main(sys.argv[1])
