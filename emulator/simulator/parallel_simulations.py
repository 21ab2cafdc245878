"""Many independent simulations, run in parallel by dask, stored as they end, and resumable.

A case is a frozen value that describes one simulation completely. Its outcome depends on nothing else, so the outcomes
are the same on any number of workers and in any order. With a store, each outcome is written as one line of a file when
it arrives; if they are started again, only the missing ones are computed. Progress is reported as events.
"""

from __future__ import annotations

import json
import logging
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from emulator.model.errors import InvalidInput, RunFailed
from emulator.model.host_processors import usable_processors

Outcome = Mapping[str, Any]
"""The outcome of one simulation: a number, boolean or None by quantity, which can be written as JSON."""

OUTCOMES_VERSION: Final = 6
"""The version of all outcomes of simulations: a stored one of another version is simulated anew, or refused.

Raise it whenever the same case would give another outcome, or a quantity of an outcome means something else: after
changes to the engine, the policies, the model of execution times, the streams or what a study measures.
"""


class Case(Protocol):
    """One simulation to run, as a value that can be sent to another process."""

    @property
    def key(self) -> str:
        """Everything that the outcome depends on, as text; with `OUTCOMES_VERSION`, if outcomes are stored."""
        ...

    def run(self) -> Outcome:
        """Run the simulation and return its outcome."""
        ...


@dataclass(frozen=True, slots=True)
class SimulationsProgress:
    """The progress of simulations: `done` of `total` cases have an outcome; `key` is the last one, empty at first."""

    done: int
    total: int
    key: str = ""


ReportSimulations = Callable[[SimulationsProgress], None]


@dataclass(frozen=True, slots=True)
class Workforce:
    """The processes that run simulations: `workers` on this machine, or the workers of a dask scheduler.

    If `workers` is None, there is one for each processor of this machine. Workers on other machines need this package.
    """

    workers: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InvalidInput(f"--workers: must be at least 1, not {self.workers}.")

    @contextmanager
    def assembled(self) -> Iterator[Any]:
        """Start the workers, or connect to the scheduler, and yield a dask client.

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
        number = self.workers or usable_processors()
        with ExitStack() as held:
            with _deaf_to_interrupts():
                cluster = held.enter_context(
                    LocalCluster(  # type: ignore[no-untyped-call]
                        n_workers=number,
                        threads_per_worker=1,
                        processes=True,
                        dashboard_address="127.0.0.1:0",
                        silence_logs=logging.CRITICAL,
                    )
                )
                client = held.enter_context(Client(cluster))  # type: ignore[no-untyped-call]
            yield client


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ignore interrupts for a moment; processes started meanwhile ignore them always.

    A terminal sends Ctrl-C to all processes of a command. This one then ends its workers, which need not know why.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class ParallelSimulations:
    """Simulations on the workers of a dask client; `store`, if given, keeps their outcomes, one JSON object per line.

    Raises:
        InvalidInput: if the store cannot be read, or is no such store.
    """

    def __init__(
        self, client: Any, store: Path | None = None, report_progress: ReportSimulations = lambda progress: None
    ) -> None:
        self._client = client
        self._store = store
        self._report_progress = report_progress
        self._known: dict[str, Outcome] = {} if store is None else _stored(store)

    def outcomes(self, cases: Sequence[Case]) -> list[Outcome]:
        """Return the outcomes of `cases` in the same order; equal cases are run once.

        Raises:
            TestbedError: if a simulation raises one.
        """
        from distributed import as_completed

        keys = [case.key for case in cases]
        missing = {case.key: case for case in cases if case.key not in self._known}
        total = len(set(keys))
        done = total - len(missing)
        self._report_progress(SimulationsProgress(done, total))
        if not missing:
            return [self._known[key] for key in keys]
        futures = {self._client.submit(_run, case, pure=False): key for key, case in missing.items()}
        try:
            for future in as_completed(futures):  # type: ignore[no-untyped-call]
                key, done = futures[future], done + 1
                self._keep(key, future.result())
                self._report_progress(SimulationsProgress(done, total, key))
        finally:
            self._client.cancel(list(futures))
        return [self._known[key] for key in keys]

    def tidy(self) -> None:
        """Sort the lines of the store by key, so that the same cases leave equal files."""
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
    return json.dumps({"case": key, "outcome": outcome}) + "\n"


def _stored(store: Path) -> dict[str, Outcome]:
    """Return the outcomes in `store`, and remove a last line that was cut off by a crash."""
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
