"""What jobs write, kept on disk beside the journal by job number, within a limit that no job exceeds.

Of each stream the last part is kept, at least half of the limit: a file that has come to half of it takes the place of
the one before it. What was written is there at once, while the job runs and after a broker's death.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

LIMIT_BYTES: Final = 1_048_576
"""Of a stream of one job, at most."""


class KeptStream:
    """One stream of one job; any thread may write."""

    def __init__(self, path: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self._path = path
        self._older = path.with_name(f"{path.name}.older")
        self._half_bytes = limit_bytes // 2
        self._lock = threading.Lock()

    def write_line(self, line: str) -> None:
        """Add a line; of one that is longer than half of the limit, its end."""
        content = (line + "\n").encode(errors="replace")[-self._half_bytes :]
        with self._lock:
            if self._size() + len(content) > self._half_bytes:
                self._path.replace(self._older)
            with self._path.open("ab") as file:
                file.write(content)

    def read(self) -> str:
        """What is kept."""
        with self._lock:
            parts = [path.read_bytes() for path in (self._older, self._path) if path.exists()]
        return b"".join(parts).decode(errors="replace")

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0


class JobOutput:
    """The standard output and the standard error of one job."""

    def __init__(self, folder: Path, job: int) -> None:
        self.output = KeptStream(folder / f"{job}.output")
        self.error = KeptStream(folder / f"{job}.error")


class Outputs:
    """The outputs of all jobs, in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._open: dict[int, JobOutput] = {}

    def begun(self, job: int) -> JobOutput:
        """Where `job` is to write."""
        return self._open.setdefault(job, JobOutput(self._folder, job))

    def ended(self, job: int) -> None:
        """Nothing writes for `job` any more."""
        self._open.pop(job, None)

    def read(self, job: int) -> tuple[str, str]:
        """Standard output and error of `job` as far as they are kept; empty if it wrote nothing."""
        kept = self._open.get(job) or JobOutput(self._folder, job)
        return kept.output.read(), kept.error.read()
