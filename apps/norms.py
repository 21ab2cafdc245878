"""How far a computed solution is from the known one: the norms of the error over all ranks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mpi4py import MPI


def gather_error_norms(
    communicator: MPI.Comm, difference: npt.NDArray[np.float64], spacing: float
) -> dict[str, object] | None:
    """The largest error of a point and the l2 norm of all, at rank 0; None at the others. Every rank must call this.

    `difference` holds this rank's points and may be empty. The l2 norm is that of the unit square: the root of the sum
    of squares, each of which stands for `spacing` x `spacing`.
    """
    norms = communicator.gather(_norms(difference), root=0)
    if norms is None:
        return None
    return {
        "error_max_norm": max(largest for largest, _ in norms),
        "error_l2_norm": spacing * math.hypot(*(length for _, length in norms)),
    }


def _norms(difference: npt.NDArray[np.float64]) -> tuple[float, float]:
    largest = float(np.abs(difference).max(initial=0.0))
    # Scaled by the largest difference: squares of what is not small may overflow.
    squares = float(np.sum((difference / largest) ** 2)) if largest > 0.0 else 0.0
    return largest, largest * math.sqrt(squares)
