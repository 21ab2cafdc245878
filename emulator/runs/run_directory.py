"""A run's directory: each row appended in one write, the manifest replaced whole; a crash loses one row at most.

`RunDirectory` writes one, `read_run` reads one back without a torn last line. A measurement at several dilations, or
one that was resumed, holds a folder `part-N` for each further part, itself a run's directory, whose jobs and links are
read as the run's own. Runs of a cell that were superseded are read apart.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from pydantic import ValidationError

from emulator.model.cell_rows import (
    AttributionRow,
    BorderExchangeRow,
    CommunicationRow,
    ExtensionFactorRow,
    InvarianceRow,
)
from emulator.model.counts import number_of
from emulator.model.errors import InvalidInput, TestbedBusy
from emulator.model.faults import first_fault
from emulator.model.full_disk import DiskPatience
from emulator.model.process_lock import ProcessLock, is_locked
from emulator.model.records import (
    DECISIONS_FILE,
    FORMAT_VERSION,
    MANIFEST_FILE,
    ROW_FILES,
    BackgroundRow,
    ComponentRow,
    JobRow,
    LinkRow,
    Manifest,
    RunKind,
    RunProgress,
    StatedVersion,
    SupersededRow,
    TransferRow,
    UtilizationRow,
)
from emulator.model.rows import Row
from emulator.model.views import EventView
from emulator.model.whole_files import unfinished_name, write_whole
from emulator.runs.appended_files import AppendedFiles, unwritten

AnyRow = TypeVar("AnyRow", bound=Row)

WRITING: Final = ".writing"
"""The file in a run's directory that is locked by the process that writes there."""

PILOTS_FOLDER: Final = "pilots"
"""The folder of a run's pilots: they are made before the run begins, and are not part of it."""

_UNFINISHED_MANIFEST: Final = unfinished_name(MANIFEST_FILE)
"""The name of the manifest while it is written."""


def check_free(path: Path) -> None:
    """Raise `InvalidInput` unless `path` may become a run's directory: it is absent, or empty but for pilots.

    What a process left that was killed before its first manifest was there does not count.
    """
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"{path}: is no directory (choose another with --out).")
    if path.is_dir() and not all(_leaves_free(entry) for entry in path.iterdir()):
        raise InvalidInput(f"{path}: is not empty, and no run is written over another (choose another with --out).")


def _leaves_free(entry: Path) -> bool:
    """Return whether a run may begin in the directory that holds `entry`."""
    if entry.name == WRITING:
        return not is_locked(entry)
    return entry.name in (PILOTS_FOLDER, _UNFINISHED_MANIFEST)


def check_unwritten(path: Path) -> None:
    """Raise `TestbedBusy` if a process still writes the run in `path`, one of its parts or a control run of it."""
    for file in sorted(path.rglob(WRITING)):
        if is_locked(file):
            raise TestbedBusy(
                f"{file.parent}: is being written by another process (wait until it ends; if there is none, remove "
                f"{file.name} there)."
            )


class RunDirectory:
    """The writer of the files of one run; a context manager that closes them. `on_row` is told of every row.

    What cannot be written raises `RunFailed`. A full disk is waited for with `patience`, which is none at first.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        check_free(path)
        self.path = path
        self.manifest = manifest
        self.patience = DiskPatience()
        self.on_row: Callable[[Row], None] | None = None
        self._files = AppendedFiles(path, self.patience)
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._writing = ProcessLock(path / WRITING)
            self._write_first_manifest()
        except OSError as error:
            raise InvalidInput(f"{path}: cannot be made ({error.strerror or error}).") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close()
        self._writing.release()

    def update_manifest(self, changes: Mapping[str, object]) -> None:
        """Replace the manifest by one with `changes`; a reader sees the old one or the new one, whole."""
        self.manifest = self.manifest.model_copy(update=dict(changes))
        self._replace(partial(replace_manifest, self.path, self.manifest), MANIFEST_FILE)

    def append(self, row: Row, *, waits: bool = True) -> None:
        """Append one row to the file of its type, whole or not at all; threads may do so at once.

        While the disk is full, it `waits`, as long as the patience lasts.
        """
        self._files.append(ROW_FILES[type(row)], _line(row.cells()), _header(type(row)), waits=waits)
        if self.on_row is not None:
            self.on_row(row)

    def write_through(self, row_type: type[Row]) -> bool:
        """Write all rows of a type through to the disk; return False if there are none yet."""
        return self._files.write_through(ROW_FILES[row_type])

    def append_event(self, event: EventView) -> None:
        """Append one event, with its decision or job, to the decisions' file."""
        self._files.append(DECISIONS_FILE, event.model_dump_json(exclude_none=True) + "\n")

    def replace(self, row_type: type[AnyRow], rows: Sequence[AnyRow]) -> None:
        """Replace all rows of one type by `rows`."""
        self._replace(partial(replace_rows, self.path, row_type, rows), ROW_FILES[row_type])

    def _write_first_manifest(self) -> None:
        """Write the manifest for the first time; if that fails, leave nothing in the directory."""
        try:
            if (self.path / MANIFEST_FILE).exists():
                raise InvalidInput(f"{self.path}: another process has written a run there (choose another with --out).")
            replace_manifest(self.path, self.manifest)
        except BaseException:
            self._writing.release()
            raise

    def _replace(self, write: Callable[[], None], name: str) -> None:
        try:
            self.patience.outlasting(write, self.path / name)
        except OSError as error:
            raise unwritten(self.path / name, error) from error


def replace_manifest(directory: Path, manifest: Manifest) -> None:
    """Replace the manifest of the run in `directory`."""
    write_whole(directory / MANIFEST_FILE, manifest.model_dump_json(indent=2, by_alias=True) + "\n")


def replace_rows(directory: Path, row_type: type[AnyRow], rows: Sequence[AnyRow]) -> None:
    """Replace all rows of one type in `directory` by `rows`; without rows there is no file."""
    path = directory / ROW_FILES[row_type]
    if rows:
        write_whole(path, "".join([_header(row_type), *(_line(row.cells()) for row in rows)]))
    else:
        path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class RunRecords:
    """The content of a run's directory.

    `transfers`, `utilization` and `background` are those of its first part, `jobs` are without superseded ones. Numbers
    of jobs are those of one part: several parts may use the same ones.
    """

    path: Path
    manifest: Manifest
    jobs: list[JobRow]
    superseded: list[SupersededRow]
    components: list[ComponentRow]
    transfers: list[TransferRow]
    utilization: list[UtilizationRow]
    background: list[BackgroundRow]
    links: list[LinkRow]
    extension_factors: list[ExtensionFactorRow]
    communication: list[CommunicationRow]
    border_exchange: list[BorderExchangeRow]
    attribution: list[AttributionRow]
    invariance: list[InvarianceRow]


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of the run directory at `path`.

    Raises:
        InvalidInput: if there is no run directory, it is of another format version, or the manifest holds what it
            should not.
    """
    manifest = path / MANIFEST_FILE
    if not manifest.is_file():
        raise InvalidInput(f"{path}: is no run's directory (it has no {MANIFEST_FILE}).")
    content = manifest.read_bytes()
    try:
        version = StatedVersion.model_validate_json(content).format_version
        if version != FORMAT_VERSION:
            raise InvalidInput(
                f"{path}: is of format version {version}, and this program reads version {FORMAT_VERSION} (use the "
                "program that wrote it)."
            )
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        raise InvalidInput(f"{manifest}: {first_fault(error)}") from error


def attempts(path: Path) -> list[Path]:
    """Return the directories with a run's records: its own, then one for each further part of it."""
    found = [path]
    while (further := _part(path, len(found))) is not None:
        found.append(further)
    return found


def _part(path: Path, number: int) -> Path | None:
    """Return the folder of a further part; old runs were resumed in folders of another name."""
    folders = (path / f"{name}-{number}" for name in ("part", "resumed"))
    return next((folder for folder in folders if (folder / MANIFEST_FILE).is_file()), None)


def was_cut_short(path: Path, manifest: Manifest) -> bool:
    """Return whether the run in `path` ended before its last job, or was resumed, so that it is not one run."""
    return manifest.progress is not RunProgress.COMPLETE or len(attempts(path)) > 1


def next_attempt(path: Path) -> Path:
    """Return the directory for the records of the next part of the run in `path`."""
    return path / f"part-{len(attempts(path))}" if (path / MANIFEST_FILE).is_file() else path


def supersede(folder: Path, rows: Sequence[SupersededRow]) -> None:
    """Note in `folder`, whose ``jobs.csv`` holds them, that runs of cells no longer count."""
    replace_rows(folder, SupersededRow, [*read_rows(folder, SupersededRow), *rows])


def counted_jobs(folder: Path) -> list[JobRow]:
    """Read the jobs in `folder` without those that were superseded.

    Raises:
        InvalidInput: if two rows have the number of one job.
    """
    superseded = {row.job for row in read_rows(folder, SupersededRow)}
    jobs: dict[int, JobRow] = {}
    for row in read_rows(folder, JobRow):
        if row.job in jobs:
            raise InvalidInput(
                f"{folder / ROW_FILES[JobRow]}: has two rows of job {row.job}, and a job ends once: remove the one "
                "that is not of this run."
            )
        jobs[row.job] = row
    return [row for row in jobs.values() if row.job not in superseded]


def read_run(path: Path) -> RunRecords:
    """Read everything in the run directory at `path`; a file that was not written counts as empty.

    Raises:
        InvalidInput: if there is no run directory, one of its files holds what it should not, or jobs are missing from
            a stream of jobs that is complete.
    """
    manifest, folders = read_manifest(path), attempts(path)
    jobs = [row for folder in folders for row in counted_jobs(folder)]
    _check_complete(path, manifest, len(jobs))

    def everywhere(row_type: type[AnyRow]) -> list[AnyRow]:
        return [row for folder in folders for row in read_rows(folder, row_type)]

    return RunRecords(
        path,
        manifest,
        jobs,
        everywhere(SupersededRow),
        everywhere(ComponentRow),
        read_rows(path, TransferRow),
        read_rows(path, UtilizationRow),
        read_rows(path, BackgroundRow),
        everywhere(LinkRow),
        read_rows(path, ExtensionFactorRow),
        read_rows(path, CommunicationRow),
        read_rows(path, BorderExchangeRow),
        read_rows(path, AttributionRow),
        read_rows(path, InvarianceRow),
    )


def check_not_cut_short(run: RunRecords) -> None:
    """Raise `InvalidInput` if a stream of jobs was cut short."""
    manifest = run.manifest
    if was_cut_short(run.path, manifest):
        raise InvalidInput(
            f"{run.path}: was cut short ({len(run.jobs)} of {number_of(manifest.jobs, 'job')} are in it, "
            f"{manifest.progress.value}): run it again."
        )


def _check_complete(path: Path, manifest: Manifest, jobs: int) -> None:
    """Raise `InvalidInput` if a stream of jobs is complete without some of them; a measurement may leave runs out."""
    is_whole = manifest.kind is not RunKind.MEASUREMENT and manifest.progress is RunProgress.COMPLETE
    if is_whole and jobs < manifest.jobs:
        raise InvalidInput(
            f"{path}: is complete by its {MANIFEST_FILE}, but {ROW_FILES[JobRow]} holds {jobs} of its "
            f"{number_of(manifest.jobs, 'job')}: rows were lost (take the file from a copy, or run it again)."
        )


def read_rows(directory: Path, row_type: type[AnyRow]) -> list[AnyRow]:
    """Read the rows of one type in a run's directory; columns are found by their header.

    Raises:
        InvalidInput: if a line is not such a row; the message names the file and the line.
    """
    path = directory / ROW_FILES[row_type]
    if not path.is_file():
        return []
    content = path.read_bytes()
    rows: list[AnyRow] = []
    lines = csv.reader(io.StringIO(_text(path, content[: content.rfind(b"\n") + 1]), newline=""))
    try:
        header = next(lines, [])
        for cells in lines:
            if cells:
                _check_length(cells, header)
                rows.append(row_type.from_cells(dict(zip(header, cells, strict=True))))
    except ValidationError as error:
        raise InvalidInput(f"{path}, line {lines.line_num}: {first_fault(error)}") from error
    except (csv.Error, InvalidInput) as error:
        raise InvalidInput(f"{path}, line {lines.line_num}: {error}") from error
    return rows


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}, byte {error.start}: is no text in UTF-8.") from error


def _check_length(cells: Sequence[str], header: Sequence[str]) -> None:
    if len(cells) != len(header):
        raise InvalidInput(f"has {number_of(len(cells), 'cell')}, and the header {len(header)} columns.")


@cache
def _header(row_type: type[Row]) -> str:
    return _line(row_type.columns())


def _line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([" ".join(cell.splitlines()) for cell in cells])
    return line.getvalue()
