"""Reading what earlier attempts at a measurement left: the matrix, the finished jobs, and the checks of the links.

The jobs are read back from the events that ended them, which hold the application's whole record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from emulator.fidelity.verdict import Verdict, judge_links, judge_traffic
from emulator.model.clock import Dilation
from emulator.model.documents import validate
from emulator.model.errors import InvalidInput
from emulator.model.evidence import LinkCheck
from emulator.model.faults import first_fault
from emulator.model.job import JobState
from emulator.model.records import DECISIONS_FILE, JobRow, Manifest, RunKind, RunProgress
from emulator.model.topology import Topology
from emulator.model.traffic import users_flows
from emulator.model.views import EventKind, EventView
from emulator.runs.job_rows import verdict_in
from emulator.runs.matrix import Layout, Matrix
from emulator.runs.recording import EndedJob, Finished
from emulator.runs.run_directory import attempts, check_unwritten, counted_jobs, read_manifest, read_rows


@dataclass(frozen=True, slots=True)
class Earlier:
    """The remains of earlier attempts at a measurement: finished `jobs` that count, in order, and the links' `checks`.

    Only checks of parts with such jobs are in it. `plan` is what the first part's manifest keeps of the dilations.
    """

    matrix: Matrix
    jobs: tuple[EndedJob, ...]
    checks: tuple[LinkCheck, ...]
    plan: dict[str, Any] | None = None

    def finished(self, layout: Layout, repeat: int, dilation: Dilation) -> Finished:
        """Return the finished jobs of each cell at `dilation`, at most `repeat`, with the specification it has now."""
        here = [job for job in self.jobs if job.dilation == dilation.factor]
        return {
            cell.name: [job for job in here if job.specification == cell.specification][:repeat]
            for cell in layout.cells
        }


def read_earlier(path: Path, topology: Topology) -> Earlier:
    """Read what earlier attempts at the measurement in `path` left, to continue it on `topology`.

    Raises:
        InvalidInput: if it is no measurement, is complete, was made on another topology, or cannot be read.
        TestbedBusy: if another process still writes it, on another testbed.
    """
    manifest = read_manifest(path)
    if manifest.kind is not RunKind.MEASUREMENT:
        raise InvalidInput(f"{path}: is a {manifest.kind.value}; only measurements are resumed.")
    if manifest.progress is RunProgress.COMPLETE:
        raise InvalidInput(f"{path}: is complete, nothing is left to run (`testbed report {path}` shows it).")
    if manifest.topology != topology:
        raise InvalidInput(
            f"{path}: was measured on topology {manifest.topology.name!r} as it then was, which is not what runs "
            f"({topology.name!r}): measure anew."
        )
    check_unwritten(path)
    return read_attempts(path)


def read_attempts(path: Path) -> Earlier:
    """Read what all attempts left so far at the measurement in `path`, or at a control run of one.

    Raises:
        InvalidInput: if it cannot be read.
    """
    jobs: list[EndedJob] = []
    checks: list[LinkCheck] = []
    for folder in attempts(path):
        manifest = read_manifest(folder)
        found = list(_finished_jobs(folder, manifest))
        jobs += found
        checks += manifest.link_checks if found else ()
    first = read_manifest(path)
    return Earlier(validate(first.workload, Matrix, source=f"{path}: workload"), tuple(jobs), tuple(checks), first.plan)


def is_unfinished(path: Path) -> bool:
    """Return whether `path` holds an incomplete measurement of which at least one job finished."""
    try:
        manifest, folders = read_manifest(path), attempts(path)
    except InvalidInput:
        return False
    if manifest.kind is not RunKind.MEASUREMENT or manifest.progress is RunProgress.COMPLETE:
        return False
    return any(job.state == JobState.FINISHED for folder in folders for job in read_rows(folder, JobRow))


def _was_under_traffic(manifest: Manifest) -> bool:
    """Return whether background traffic was to be sent; for local users only by a program that says its sources."""
    sent_by_users = "sources" in manifest.versions and bool(users_flows(manifest.topology))
    return bool(manifest.workload.get("traffic")) or sent_by_users


def _finished_jobs(folder: Path, manifest: Manifest) -> Iterator[EndedJob]:
    """Return the jobs that finished by the events in `folder`, and count; a torn last line is left out."""
    verdicts = {row.job: verdict_in(row) for row in counted_jobs(folder)}
    is_judged = _was_under_traffic(manifest)
    traffic = judge_traffic(manifest.missing_traffic_share) if is_judged else Verdict()
    path = folder / DECISIONS_FILE
    content = path.read_bytes() if path.is_file() else b""
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            event = EventView.model_validate_json(line)
        except ValidationError as error:
            raise InvalidInput(f"{path}, line {number}: {first_fault(error)}") from error
        job = event.job
        # The event is written before the row: a job without a row was never judged, and does not count as finished.
        if event.kind is EventKind.FINISHED and job is not None and job.result is not None and job.id in verdicts:
            clusters = {part.cluster for part in job.components}
            ended = EndedJob.of(job, verdicts[job.id], manifest.dilation, folder)
            yield ended.judged_also(Verdict.worst_of([judge_links(manifest.link_checks, clusters), traffic]))
