"""Many independent simulations on many processors: dispatched to dask, kept as they end, resumed where they stopped.

A case is a frozen value that says everything of one simulation; what it gives depends on nothing else, so the outcomes
of a sweep are the same on any number of workers and in any order. With a store, each outcome is one line of a file,
written when it comes; a sweep that is started again computes what is missing. Progress is told as events.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from emulator.model.errors import InvalidInput, RunFailed

Outcome = Mapping[str, Any]
"""What one simulation gives, by quantity: numbers, truth values, or None; JSON can hold it."""


class Case(Protocol):
    """One simulation to be made: a value that can be sent to another process."""

    @property
    def key(self) -> str:
        """All that the outcome depends on, as text; no two cases of a sweep share it."""
        ...

    def run(self) -> Outcome:
        """Simulate."""
        ...


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """So many of the cases of a sweep have an outcome; `key` is the case that came last, empty if none did."""

    done: int
    total: int
    key: str = ""


Tell = Callable[[SweepProgress], None]


@dataclass(frozen=True, slots=True)
class Workforce:
    """Where simulations run: so many processes of this machine, or wherever a dask scheduler has its workers.

    `workers` of None means one for each processor of this machine. Workers elsewhere need this package installed.
    """

    workers: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InvalidInput(f"--workers: must be at least 1, not {self.workers}.")

    @contextmanager
    def assembled(self) -> Iterator[Any]:
        """A dask client of these workers for the length of the block.

        Raises:
            RunFailed: if the scheduler does not answer.
        """
        from distributed import Client, LocalCluster

        for name in ("distributed", "distributed.worker", "distributed.nanny", "distributed.scheduler"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if self.scheduler is not None:
            try:
                client = Client(self.scheduler, timeout="10s")  # type: ignore[no-untyped-call]
            except (OSError, ValueError) as error:
                raise RunFailed(f"The dask scheduler at {self.scheduler!r} does not answer: {error}.") from error
            with client:
                yield client
            return
        number = self.workers or len(os.sched_getaffinity(0))
        with (
            LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=number, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
            ) as cluster,
            Client(cluster) as client,  # type: ignore[no-untyped-call]
        ):
            yield client


class Sweep:
    """Runs cases and keeps their outcomes in `store`, a file of one JSON object per line, if one is given.

    Raises:
        InvalidInput: if the store cannot be read or holds what no sweep wrote.
    """

    def __init__(self, client: Any, store: Path | None = None, tell: Tell = lambda progress: None) -> None:
        self._client = client
        self._store = store
        self._tell = tell
        self._known: dict[str, Outcome] = {} if store is None else _stored(store)

    def outcomes(self, cases: Sequence[Case]) -> list[Outcome]:
        """The outcome of each of `cases`, in their order; equal cases are run once.

        Raises:
            TestbedError: what a simulation raised.
        """
        from distributed import as_completed

        keys = [case.key for case in cases]
        missing = {case.key: case for case in cases if case.key not in self._known}
        total = len(set(keys))
        done = total - len(missing)
        self._tell(SweepProgress(done, total))
        if not missing:
            return [self._known[key] for key in keys]
        futures = {self._client.submit(_run, case, pure=False): key for key, case in missing.items()}
        try:
            for future in as_completed(futures):  # type: ignore[no-untyped-call]
                key, done = futures[future], done + 1
                self._keep(key, future.result())
                self._tell(SweepProgress(done, total, key))
        finally:
            self._client.cancel(list(futures))
        return [self._known[key] for key in keys]

    def tidy(self) -> None:
        """Put the lines of the store in order of their keys, so that equal sweeps leave equal files."""
        if self._store is None or not self._store.exists():
            return
        ordered = self._store.with_suffix(".ordered")
        ordered.write_text("".join(_line(key, self._known[key]) for key in sorted(self._known)), encoding="utf-8")
        ordered.replace(self._store)

    def _keep(self, key: str, outcome: Outcome) -> None:
        self._known[key] = outcome
        if self._store is not None:
            with self._store.open("a", encoding="utf-8") as lines:
                lines.write(_line(key, outcome))


def _run(case: Case) -> Outcome:
    return case.run()


def _line(key: str, outcome: Outcome) -> str:
    return json.dumps({"case": key, "outcome": outcome}, sort_keys=True) + "\n"


def _stored(store: Path) -> dict[str, Outcome]:
    """The outcomes in `store`; a last line that was cut off by a crash is taken away."""
    if not store.exists():
        return {}
    try:
        text = store.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{store}: cannot be read ({error}).") from error
    whole, _, cut_off = text.rpartition("\n")
    if cut_off:
        store.write_text(f"{whole}\n" if whole else "", encoding="utf-8")
    found: dict[str, Outcome] = {}
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            entry = json.loads(line)
            found[entry["case"]] = entry["outcome"]
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{store}, line {number}: is no outcome of a sweep; remove the file.") from error
    return found
