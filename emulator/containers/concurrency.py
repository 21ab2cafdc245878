"""Tasks run concurrently; the first failure or an interrupt does not wait for the rest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TypeVar

Result = TypeVar("Result")


def run_concurrently(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Run `tasks` in threads of their own; return their results in order, or raise the first error as it occurs.

    Unlike an executor of the standard library this does not wait for the other tasks after an error. They end by
    themselves when the caller cleans up what they wait for, and they do not keep the process alive.
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
