"""One rank stands for one processor: a threaded numerical library would take the others' share of the host."""

import os

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def set_environment() -> None:
    """Makes numerical libraries that are loaded from now on use one thread, unless the user says otherwise."""
    for name in _THREADS:
        os.environ.setdefault(name, "1")
