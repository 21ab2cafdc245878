"""The output of jobs, on disk beside the journal by job number, of limited size.

The last part of each stream is kept, at least half of the limit: a file that has grown to half of it replaces the older
one. Output can be read at once, while the job runs, and also after the broker was killed. The outputs of the last
`RETAINED_JOBS` jobs are kept.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)
LIMIT_BYTES: Final = 1_048_576
"""Limit of one stream of one job."""
RETAINED_JOBS: Final = 10_000
LOST: Final = "\n[lines that could not be written here: {number}]\n"
SUFFIXES: Final = ("output", "error", "output.older", "error.older")


class LimitedStream:
    """One stream of one job, of limited size; any thread may write."""

    def __init__(self, path: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self._path = path
        self._older = path.with_name(f"{path.name}.older")
        self._half_bytes = limit_bytes // 2
        self._lock = threading.Lock()
        self._lost = 0

    def write_line(self, line: str) -> None:
        """Add a line; of a line longer than half of the limit, only its end.

        A line that the disk refuses is lost, which is no fault of its job; the next one that is written says so.
        """
        with self._lock:
            lost = LOST.format(number=self._lost) if self._lost else ""
            try:
                self._append((lost + line + "\n").encode(errors="replace")[-self._half_bytes :])
            except OSError as error:
                if not self._lost:
                    log.warning("%s: output is lost: %s", self._path.name, error)
                self._lost += 1
            else:
                self._lost = 0

    def read(self) -> str:
        """Return what is kept of the stream."""
        with self._lock:
            parts = [path.read_bytes() for path in (self._older, self._path) if path.exists()]
        return b"".join(parts).decode(errors="replace")

    def _append(self, content: bytes) -> None:
        if self._size() + len(content) > self._half_bytes:
            self._path.replace(self._older)
        with self._path.open("ab") as file:
            file.write(content)

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0


class JobOutput:
    """The standard output and the standard error of one job."""

    def __init__(self, folder: Path, job: int) -> None:
        self.output = LimitedStream(folder / f"{job}.output")
        self.error = LimitedStream(folder / f"{job}.error")


class Outputs:
    """The outputs of all jobs, in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._open: dict[int, JobOutput] = {}
        self._newest = max((int(path.name.split(".")[0]) for path in folder.glob("*.*")), default=0)
        for path in folder.glob("*.*"):
            if int(path.name.split(".")[0]) <= self._newest - RETAINED_JOBS:
                path.unlink(missing_ok=True)
        self._oldest = max(1, self._newest - RETAINED_JOBS + 1)

    def open(self, job: int) -> JobOutput:
        """Return where `job` is to write, and remove the outputs of jobs that are too old now."""
        self._newest = max(self._newest, job)
        while self._oldest <= self._newest - RETAINED_JOBS:
            self._remove(self._oldest)
            self._oldest += 1
        return self._open.setdefault(job, JobOutput(self._folder, job))

    def close(self, job: int) -> None:
        """Forget the open output of `job`, which has ended."""
        self._open.pop(job, None)
        if job <= self._newest - RETAINED_JOBS:
            self._remove(job)

    def read(self, job: int) -> tuple[str, str]:
        """Return what is kept of the standard output and error of `job`; empty if it wrote nothing."""
        kept = self._open.get(job) or JobOutput(self._folder, job)
        return kept.output.read(), kept.error.read()

    def _remove(self, job: int) -> None:
        if job not in self._open:
            for suffix in SUFFIXES:
                (self._folder / f"{job}.{suffix}").unlink(missing_ok=True)
