"""A rank's end: MPI's, then the process's, at once."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from apps.start import mpi

EXIT_FAILED = 1


def leave(exit_code: int) -> NoReturn:
    """Ends MPI and the process. What Python would tidy up piece by piece the system takes back as a whole."""
    mpi.end()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            exit_code = exit_code or EXIT_FAILED
    os._exit(exit_code)
