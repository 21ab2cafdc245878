"""A solution written to one file by rank 0, of which all ranks hear how that went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from apps.failing import check_together

if TYPE_CHECKING:
    from mpi4py import MPI

Values = npt.NDArray[np.float64]


def save_solution(communicator: MPI.Comm, whole: Values | None, path: Path | None) -> None:
    """Rank 0 writes the whole solution to `path`, as an .npy array; nothing if no path is given.

    Every rank must call this; only rank 0 has the solution.

    Raises:
        RunFailed: at every rank alike, if the file cannot be written.
    """
    if path is None:
        return
    complaint = None
    if whole is not None:
        try:
            np.save(path, whole)
        except OSError as error:
            complaint = f"The solution could not be written to {path}: {error.strerror}."
    check_together(communicator, complaint)
