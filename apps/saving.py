"""A solution that is divided over ranks, brought together and written to one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from apps.grid import Block
from emulator.model.errors import RunFailed

if TYPE_CHECKING:
    from mpi4py import MPI

Values = npt.NDArray[np.float64]


def save_solution(communicator: MPI.Comm, block: Block, values: Values, side_points: int, path: Path) -> None:
    """Writes all ranks' `values`, each on its own `block`, as .npy, bottom row first; every rank must call this.

    Raises:
        RunFailed: at rank 0, if the file cannot be written.
    """
    blocks = communicator.gather((block, values.copy()), root=0)
    if blocks is None:
        return
    whole = np.empty((side_points, side_points))
    for owned, part in blocks:
        rows = slice(owned.first_row, owned.first_row + owned.rows)
        whole[rows, owned.first_column : owned.first_column + owned.columns] = part
    write_solution(whole, path)


def write_solution(whole: Values, path: Path) -> None:
    """Writes the whole solution as an .npy array.

    Raises:
        RunFailed: if the file cannot be written.
    """
    try:
        np.save(path, whole)
    except OSError as error:
        raise RunFailed(f"The solution could not be written to {path}: {error.strerror}.") from error
