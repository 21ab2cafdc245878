"""Doing several things at once such that the first failure, or an interrupt, is not held up by the rest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TypeVar

Result = TypeVar("Result")


def together(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """The results of `tasks`, run at once, in order; the first error that any raises is raised here at once.

    Unlike an executor of the standard library this does not wait for the others then: they are left to end by
    themselves (whoever cleans up after the error takes away what they wait for), and do not keep the process alive.
    """
    results: dict[int, Result] = {}
    endings: SimpleQueue[BaseException | None] = SimpleQueue()

    def attempt(index: int, task: Callable[[], Result]) -> None:
        try:
            results[index] = task()
            endings.put(None)
        except BaseException as error:
            endings.put(error)

    for index, task in enumerate(tasks):
        threading.Thread(target=attempt, args=(index, task), daemon=True).start()
    for _ in tasks:
        error = endings.get()
        if error is not None:
            raise error
    return [results[index] for index in range(len(tasks))]
