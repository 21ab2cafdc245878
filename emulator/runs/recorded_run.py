"""The steps of every recorded run, whatever its jobs: manifest, recorder, checks of the links, conclusion.

A run is, in this order: `held`, `recorded`, `checked_links` around its jobs, and `conclude`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.fidelity.measures import RunMeasures, wait_lateness_share
from emulator.fidelity.verdict import Judgement, Verdict, judge_run
from emulator.model.clock import Dilation
from emulator.model.errors import TestbedError
from emulator.model.evidence import LinkCheck
from emulator.model.full_disk import HOST_FULL_DISK_S
from emulator.model.job import JobState
from emulator.model.records import Manifest, RunKind, RunProgress
from emulator.model.traffic import flows_of
from emulator.model.views import RunRequest, RunView
from emulator.runs.evidence import gathering
from emulator.runs.following import record_rest
from emulator.runs.holding import Testbed, uninterrupted
from emulator.runs.page_notes import NoteBook, notes_sent
from emulator.runs.progress import ProgressReport, ReportProgress
from emulator.runs.recording import Recorder
from emulator.runs.run_directory import RunDirectory
from emulator.runs.surroundings import host, host_now, host_size, versions

if TYPE_CHECKING:
    from emulator.containers.wan.traffic import TrafficLoad


def begun_manifest(
    testbed: Testbed, kind: RunKind, request: RunRequest, workload: dict[str, object], jobs: int
) -> Manifest:
    """Return the manifest of a run that begins now: void until the run has ended, in case it dies."""
    return Manifest(
        kind=kind,
        name=request.name,
        verdict=Judgement.VOID,
        verdict_reasons=("the run has not ended",),
        topology=testbed.topology,
        workload=workload,
        jobs=jobs,
        policy=request.policy,
        queue=request.queue,
        seed=request.seed,
        dilation=request.dilation,
        paced_middleware=request.paced_middleware,
        time_scale=request.time_scale,
        unshaped_clusters=tuple(cluster.name for cluster in testbed.topology.real_clusters),
        host_began_at=host_now(),
        host=host(),
        versions=versions(),
        images=dict(testbed.images),
    )


@contextmanager
def recorded(testbed: Testbed, run: RunView, manifest: Manifest, path: Path) -> Iterator[Recorder]:
    """Yield a recorder into a new run directory at `path`.

    If the run ends early, its unfinished jobs are cancelled and recorded as such, and the manifest says why.
    """
    with RunDirectory(path, manifest) as directory:
        directory.patience.host_patience_s = HOST_FULL_DISK_S
        notes = NoteBook(manifest)
        directory.on_row = notes.note_row
        recorder = Recorder(directory, testbed.topology, Dilation(manifest.dilation), notes=notes)
        try:
            with notes_sent(testbed.client, run.id, notes):
                yield recorder
        except BaseException as error:
            directory.patience.host_patience_s = 0.0  # nobody waits any longer for a run that has failed
            with uninterrupted():
                with suppress(TestbedError, OSError):
                    testbed.client.end_run(run.id)
                    record_rest(testbed, run.id, recorder)
                with suppress(TestbedError, OSError):
                    _complete(recorder, RunProgress.INCOMPLETE, Verdict(Judgement.VOID, (_reason(error),)))
            raise


@contextmanager
def checked_links(testbed: Testbed, recorder: Recorder, report_progress: ReportProgress) -> Iterator[list[LinkCheck]]:
    """Program the links to the run's dilation, and check them before the jobs and (unless the run fails) after them.

    A check that finds a fault is made once more: a wrong link stays wrong, a busy moment of the host passes. Evidence
    is gathered inside the context. Waits for a full disk are reported from here on.
    """
    checks: list[LinkCheck] = []

    def check(moment: str) -> None:
        for again in ("", ", once more"):
            report_progress(ProgressReport(f"checking the wide area {moment} the run{again}"))
            made, rows = testbed.wide_area.check(recorder.dilation, moment)
            for row in rows:
                recorder.directory.append(row)
            if not made.faults:
                break
        checks.append(made)
        if recorder.notes is not None:
            recorder.notes.note_check(made)
        recorder.directory.update_manifest({"link_checks": tuple(checks)})

    def report_wait(sentence: str) -> None:
        report_progress(ProgressReport("waiting for room on the disk", remark=sentence))

    recorder.directory.patience.on_wait = report_wait
    program_links(testbed, recorder, report_progress)
    check("before")
    recorder.link_checks = checks
    with evidence_gathered(testbed, recorder):
        yield checks
    check("after")


def program_links(testbed: Testbed, recorder: Recorder, report_progress: ReportProgress) -> None:
    """Program the links to the run's dilation."""
    report_progress(ProgressReport(f"programming the wide area to dilation {recorder.dilation.factor:g}"))
    recorder.directory.update_manifest({"router_backend": testbed.wide_area.program(recorder.dilation)})


@contextmanager
def evidence_gathered(testbed: Testbed, recorder: Recorder) -> Iterator[None]:
    """Gather evidence inside the context, for the manifest and for the verdicts on the jobs of `recorder`."""
    with (
        testbed.observed() as telemetry,
        gathering(telemetry, recorder.directory, testbed.topology, host_size()) as recorder.evidence,
    ):
        yield


@contextmanager
def carried_traffic(testbed: Testbed, traffic: Mapping[str, float], recorder: Recorder) -> Iterator[TrafficLoad]:
    """Send background traffic inside the context: `traffic`, in shares of access links, and that of local users.

    Jobs are judged with it. What of it could not be sent is recorded, also if the run is interrupted: one that goes on
    later is judged by it.
    """
    recorder.traffic = flows_of(testbed.topology, traffic)
    load: TrafficLoad | None = None
    try:
        with testbed.wide_area.carrying(recorder.traffic, recorder.dilation) as load:
            yield load
    finally:
        if recorder.traffic and load is not None:
            recorder.missing_traffic_share = load.missing_share
            recorder.directory.update_manifest({"missing_traffic_share": load.missing_share})


def conclude(
    testbed: Testbed,
    run: RunView,
    recorder: Recorder,
    checks: list[LinkCheck],
    expected: int,
    progress: RunProgress = RunProgress.COMPLETE,
) -> Verdict:
    """End the run, record its last events, judge it and give its manifest that `progress`; return the verdict."""
    ended = testbed.client.end_run(run.id)
    record_rest(testbed, run.id, recorder)
    recorder.judge_by_last_check()
    failed, cancelled = recorder.count(JobState.FAILED), recorder.count(JobState.CANCELLED)
    background, strangers, missing = recorder.background_measures, recorder.strangers, recorder.missing_traffic_share
    late = wait_lateness_share(job for job in recorder.ended.values() if job.state is JobState.FINISHED)
    measures = RunMeasures(tuple(checks), expected, failed, cancelled, background, strangers, late, missing)
    verdict = judge_run(measures, list(recorder.verdicts.values()))
    recorder.directory.update_manifest({"host_origin_s": ended.host_origin_s})
    _complete(recorder, progress, verdict)
    return verdict


def _complete(recorder: Recorder, progress: RunProgress, verdict: Verdict) -> None:
    recorder.directory.update_manifest(
        {
            "progress": progress,
            "verdict": verdict.judgement,
            "verdict_reasons": verdict.reasons,
            "host_ended_at": host_now(),
        }
    )


def _reason(error: BaseException) -> str:
    return str(error) if isinstance(error, TestbedError | OSError) else "the run was interrupted"
