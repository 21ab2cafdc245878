"""MPI's beginning and end for one rank, at little cost to the ranks that share its cores.

While Open MPI waits for other ranks in its initialisation and at its end, it looks every 100 us whether they have come:
64 waiting ranks keep two cores busy, on which the rank they wait for has yet to run. A rank's timers are therefore
lax until it is ready and again when it is done; `apps.pacing` makes them exact in between.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpi4py import MPI

LAX_TIMER_HOST_NS = 5_000_000
_USUAL_TIMER = 0
_PR_SET_TIMERSLACK = 29

STARTED_BY_MPIRUN = "PMIX_NAMESPACE"
"""What is in the environment of a rank."""

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
"""What Open MPI would open in every rank and no rank uses; one-sided messages and reductions by vector units are not
used here, collectives are few and small, and most of the rest is for daemons."""

TOPOLOGY_DISCOVERY = {"HWLOC_COMPONENTS": "no_os,stop", "HWLOC_PLUGINS_PATH": ""}
"""How many cores there are is all that a rank need find out, and not their caches and what is on the PCI bus."""

LARGEST_AT_ONCE = {"OMPI_MCA_btl_vader_eager_limit": "40960"}
"""Rows of 32 KB go through shared memory at once, without their receiver's leave, for which it would have to wake."""


def load() -> None:
    """Loads MPI without initialising it; harmless where it is loaded already."""
    import mpi4py

    mpi4py.rc.initialize = False
    mpi4py.rc.finalize = False
    from mpi4py import MPI  # noqa: F401


def world() -> MPI.Intracomm:
    """All ranks of the job; initialises MPI, for one thread, when first called."""
    load()
    from mpi4py import MPI

    if not MPI.Is_initialized():
        spare_components(os.environ)
        _let_timers_be_late(LAX_TIMER_HOST_NS)
        MPI.Init()
        _let_timers_be_late(_USUAL_TIMER)
    return MPI.COMM_WORLD


def end() -> None:
    """Ends MPI if this process has begun it; every rank must call this."""
    if "mpi4py.MPI" not in sys.modules:
        return
    from mpi4py import MPI

    if MPI.Is_initialized() and not MPI.Is_finalized():
        _let_timers_be_late(LAX_TIMER_HOST_NS)
        MPI.Finalize()


def spare_components(environment: MutableMapping[str, str]) -> None:
    """Keeps Open MPI from looking for what no rank uses; where the environment names what to open, that is opened.

    A process that no mpirun started needs more than a rank, and is left alone.
    """
    if STARTED_BY_MPIRUN not in environment:
        return
    environment.update(TOPOLOGY_DISCOVERY)
    for name, limit in LARGEST_AT_ONCE.items():
        environment.setdefault(name, limit)
    for framework, unused in UNUSED_COMPONENTS.items():
        said = environment.get(framework, "")
        if said.startswith("^") or not said:
            excluded = dict.fromkeys([*said.removeprefix("^").split(","), *unused])
            environment[framework] = "^" + ",".join(name for name in excluded if name)


def _let_timers_be_late(host_ns: int) -> None:
    """How late this process's sleeps may end, 0 for the system's usual 50 us."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(host_ns), 0, 0, 0)
