"""The parent's preparation before it forks ranks: modules, MPI's library and components, and memory that stays shared.

None of it initialises MPI; each rank does so itself, as mpirun expects.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pkgutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from apps.start import mpi

# What a rank opens in MPI_Init. Loaded before the fork, a component costs a rank no look-up, mapping or relocation.
COMPONENTS = (
    "allocator_basic", "allocator_bucket", "bml_r2", "btl_self", "btl_tcp", "btl_vader", "coll_basic", "coll_libnbc",
    "coll_self", "errmgr_default_app", "ess_pmi", "mpool_hugepage", "osc_sm", "pml_ob1", "pmix_ext3x", "rcache_grdma",
    "reachable_weighted", "schizo_ompi", "shmem_mmap", "state_app",
)  # fmt: skip


FIRST_TO_END = "1000"
"""The score with which the kernel ends a process first if memory is full: a rank, before a daemon of the cluster."""


def end_first() -> None:
    """Make this process, and what it forks, what the kernel ends first if memory is full."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_END, encoding="ascii")


def prepare(applications: Iterable[str]) -> None:
    """Import what ranks of these applications need, and freeze the memory that they will share."""
    mpi.use_one_thread()
    mpi.load()
    load_components(COMPONENTS)
    import_all(applications)
    gc.collect()
    gc.disable()
    gc.freeze()


def import_all(applications: Iterable[str]) -> None:
    """Import what a rank imports while it runs; the rank itself refuses an unknown application."""
    from apps import kernels
    from apps.run import make_parser

    for module in ("apps.announcement", "apps.application", "apps.record", "apps.timeline", "apps.wide_area_bytes"):
        import_module(module)
    for kernel in pkgutil.iter_modules(kernels.__path__, "apps.kernels."):
        import_module(kernel.name)
    # Making it also imports the application's module, and what argparse needs when it is first used.
    for application in applications:
        make_parser(application)


def load_components(names: Iterable[str]) -> None:
    """Load components of Open MPI; leave one that does not exist or does not load to MPI_Init."""
    folder = _component_folder()
    if folder is None:
        return
    for name in names:
        with contextlib.suppress(OSError):
            ctypes.CDLL(str(folder / f"mca_{name}.so"), os.RTLD_LAZY)


def _component_folder() -> Path | None:
    """Find Open MPI's folder of components, below the folder of the library that this process has loaded."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "/libmpi.so" in line:
            libraries = Path(line.split(maxsplit=5)[5]).parent
            found = sorted(libraries.glob("openmpi*/**/mca_pml_ob1.so"))
            return found[0].parent if found else None
    return None
