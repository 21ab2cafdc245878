"""The beginning and end of MPI for one rank, at little cost to the ranks that share its cores.

While Open MPI waits for other ranks in its initialisation and at its end, it looks every 100 us whether they have come:
64 waiting ranks keep two cores busy, on which the rank they wait for has yet to run. A rank's timers are therefore
lax until it is ready and again when it is done; `apps.pacing` makes them exact in between.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, NoReturn

from apps.precedence import at_low_priority

if TYPE_CHECKING:
    from mpi4py import MPI

EXIT_FAILED = 1

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")

LAX_TIMER_HOST_NS = 5_000_000
_USUAL_TIMER = 0
_PR_SET_TIMERSLACK = 29
_LOOK_HOST_S = 0.005

_DAEMON_ANSWERS_WITHIN_HOST_S = 2.0
"""How long Open MPI's library (PMIx 4.2) waits at its end for an answer of the node's daemon."""
_DAEMON_LATE_HOST_S = 3.0
"""How much later the daemon may hear of a rank's end: the host's disk or its processors may hold the daemon up."""

STARTED_BY_MPIRUN = "PMIX_NAMESPACE"
"""A variable in the environment of every rank that mpirun starts."""

UNUSED_COMPONENTS = {
    "OMPI_MCA_coll": ("adapt", "han", "inter", "monitoring", "sm", "sync", "tuned"),
    "OMPI_MCA_errmgr": ("default_hnp", "default_orted", "default_tool"),
    "OMPI_MCA_op": ("avx",),
    "OMPI_MCA_osc": ("monitoring", "pt2pt", "rdma", "ucx"),
    "OMPI_MCA_pmix": ("flux",),
    "OMPI_MCA_reachable": ("netlink",),
    "OMPI_MCA_schizo": ("flux", "jsm", "orte", "slurm"),
    "OMPI_MCA_shmem": ("posix", "sysv"),
    "OMPI_MCA_state": ("hnp", "novm", "orted", "tool"),
    "PMIX_MCA_pcompress": ("zlib",),
}
"""Components that Open MPI would open in every rank and that no rank uses.

One-sided messages and reductions by vector units are not used here, collectives are few and small, and most of the
other components are for daemons.
"""

TOPOLOGY_DISCOVERY = {"HWLOC_COMPONENTS": "no_os,stop", "HWLOC_PLUGINS_PATH": ""}
"""A rank needs the number of cores only, and not their caches or the devices on the PCI bus."""

LARGEST_AT_ONCE = {"OMPI_MCA_btl_vader_eager_limit": "40960"}
"""Rows of 32 KB go through shared memory at once; larger messages would have to wake their receiver first."""


def use_one_thread() -> None:
    """Make numerical libraries that are loaded from now on use one thread, unless the user says otherwise.

    A rank emulates one processor: more threads would take the other ranks' share of the host.
    """
    for name in _THREADS:
        os.environ.setdefault(name, "1")


def load() -> None:
    """Load MPI without initialising it; do nothing if it is loaded already."""
    import mpi4py

    mpi4py.rc.initialize = False
    mpi4py.rc.finalize = False
    from mpi4py import MPI  # noqa: F401


def world() -> MPI.Intracomm:
    """Return the communicator of all ranks of the job; the first call initialises MPI.

    Several threads may then use it, one at a time.
    """
    load()
    from mpi4py import MPI

    if not MPI.Is_initialized():
        exclude_unused_components(os.environ)
        _set_timer_slack(LAX_TIMER_HOST_NS)
        MPI.Init_thread(MPI.THREAD_SERIALIZED)
        _set_timer_slack(_USUAL_TIMER)
    return MPI.COMM_WORLD


def wait_asleep(request: MPI.Request) -> None:
    """Wait for an operation, asleep; a rank that waits in MPI keeps the cores busy that other ranks need to get there.

    For the start and the end of a job, where 5 ms do not matter.
    """
    while not request.Test():
        time.sleep(_LOOK_HOST_S)


def meet(communicator: MPI.Comm) -> None:
    """Wait, asleep, until all ranks have called this.

    A rank that waits in a blocking operation of MPI asks and yields its core hundreds of thousands of times a second.
    A few dozen of these keep others from a core for a tenth of a second and more. After this nobody waits for long.
    """
    wait_asleep(communicator.Ibarrier())


def end() -> None:
    """End MPI if this process has initialised it. Every rank must call this."""
    if "mpi4py.MPI" not in sys.modules:
        return
    from mpi4py import MPI

    if MPI.Is_initialized() and not MPI.Is_finalized():
        at_low_priority(_finalize)


def _finalize() -> None:
    """End MPI, and stay if the node's daemon may not have heard of it.

    If a rank ends before its daemon has read its last message, the daemon takes it for failed, and mpirun ends the job.
    """
    from mpi4py import MPI

    _set_timer_slack(LAX_TIMER_HOST_NS)
    began_host_s = time.monotonic()
    MPI.Finalize()
    if time.monotonic() - began_host_s >= _DAEMON_ANSWERS_WITHIN_HOST_S:
        time.sleep(_DAEMON_LATE_HOST_S)


def leave(exit_code: int) -> NoReturn:
    """End MPI, then the process at once: the system frees everything faster than Python would."""
    end()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            exit_code = exit_code or EXIT_FAILED
    os._exit(exit_code)


def exclude_unused_components(environment: MutableMapping[str, str]) -> None:
    """Keep Open MPI from opening components that no rank uses, unless the environment names components to open.

    Does nothing in a process that mpirun did not start, since such a process needs more than a rank does.
    """
    if STARTED_BY_MPIRUN not in environment:
        return
    environment.update(TOPOLOGY_DISCOVERY)
    for name, limit in LARGEST_AT_ONCE.items():
        environment.setdefault(name, limit)
    for framework, unused in UNUSED_COMPONENTS.items():
        given = environment.get(framework, "")
        if given.startswith("^") or not given:
            excluded = dict.fromkeys([*given.removeprefix("^").split(","), *unused])
            environment[framework] = "^" + ",".join(name for name in excluded if name)


def _set_timer_slack(host_ns: int) -> None:
    """Set how late this thread's sleeps may end; 0 is the system's usual 50 us."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(host_ns), 0, 0, 0)
