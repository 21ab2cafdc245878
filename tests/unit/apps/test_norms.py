"""The norms of an error: as in the textbook, over all ranks, without overflow."""

import math
from typing import Any

import numpy as np
import pytest

from apps.solution import gather_error_norms


class TwoRanks:
    """Communicator of rank 0, which gathers from itself what rank 1 has given."""

    def __init__(self) -> None:
        self.given: Any = None

    def gather(self, value: Any, root: int) -> list[Any] | None:
        assert root == 0
        if self.given is None:
            self.given = value
            return None
        return [value, self.given]


def test_the_norms_are_those_of_all_ranks_points() -> None:
    ranks = TwoRanks()
    assert gather_error_norms(ranks, np.array([[1.0, -4.0]]), 0.5) is None  # type: ignore[arg-type]
    norms = gather_error_norms(ranks, np.array([[2.0], [2.0]]), 0.5)  # type: ignore[arg-type]
    assert norms == {"error_max_norm": 4.0, "error_l2_norm": pytest.approx(0.5 * math.sqrt(1 + 16 + 4 + 4))}


def test_a_rank_without_points_and_points_without_error_count_for_nothing() -> None:
    ranks = TwoRanks()
    gather_error_norms(ranks, np.empty((0, 0)), 0.1)  # type: ignore[arg-type]
    norms = gather_error_norms(ranks, np.zeros((3, 3)), 0.1)  # type: ignore[arg-type]
    assert norms == {"error_max_norm": 0.0, "error_l2_norm": 0.0}


def test_large_errors_do_not_overflow() -> None:
    ranks = TwoRanks()
    gather_error_norms(ranks, np.full((2, 2), 1e200), 0.5)  # type: ignore[arg-type]
    norms = gather_error_norms(ranks, np.zeros((1, 1)), 0.5)  # type: ignore[arg-type]
    assert norms == {"error_max_norm": 1e200, "error_l2_norm": pytest.approx(1e200)}
