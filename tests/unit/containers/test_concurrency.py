"""Things done at once: results in order, and the first failure not held up by the rest."""

import threading
import time

import pytest

from emulator.containers.concurrency import run_concurrently


def test_results_come_in_the_order_of_the_tasks() -> None:
    def slow() -> int:
        time.sleep(0.05)
        return 1

    assert run_concurrently([slow, lambda: 2]) == [1, 2]


def test_the_first_failure_is_raised_while_others_still_wait() -> None:
    forever = threading.Event()

    def fail() -> bool:
        raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        run_concurrently([forever.wait, fail])
    forever.set()


def test_nothing_to_do_gives_nothing() -> None:
    assert run_concurrently([]) == []
