"""A campaign once more from its first job: one that was interrupted or, if that is asked for, one that is void.

What had been recorded of it is kept beside it, in ``RUN-interrupted`` or ``RUN-void``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from emulator.campaigns.live import RecordedSchedule, planned, run_campaign
from emulator.campaigns.live_like_run import recorded_run
from emulator.fidelity.judgement import Judgement
from emulator.model.errors import InvalidInput, TestbedBusy
from emulator.model.records import Manifest, RunKind, RunProgress
from emulator.runs.folders import VOID_ASIDE
from emulator.runs.holding import Testbed
from emulator.runs.progress import ReportProgress
from emulator.runs.run_directory import check_unwritten, read_manifest
from workloads.campaign import Campaign, recorded_campaign

_INTERRUPTED: Final = "interrupted"


def rerun_campaign(
    testbed: Testbed,
    path: Path,
    report_progress: ReportProgress,
    *,
    void_again: bool = False,
    repeat_void: int = 0,
    even_if_hopeless: bool = False,
) -> Path:
    """Run the campaign in `path` again from its first job, and return its directory.

    It was interrupted or, with `void_again`, it is void. It has the seed and the dilation that it had, and
    its jobs if they were those of another run.

    Raises:
        InvalidInput: if `path` holds no campaign, one that is complete, or one of another topology.
        TestbedBusy: if a run holds the testbed, or another process still writes this one.
        RunFailed: if it ends early again.
    """
    manifest = read_manifest(path)
    campaign = _campaign_of(path, manifest, void_again)
    if manifest.topology != testbed.topology:
        raise InvalidInput(
            f"{path}: ran on topology {manifest.topology.name!r} as it then was, which is not what runs "
            f"({testbed.topology.name!r}): run the campaign anew."
        )
    like = _like_before(testbed, path, manifest)
    if like is None:
        planned(testbed, campaign, manifest.seed)
    check_nothing_runs(testbed)
    # The directory itself, even if the path is "." or a link: it is renamed, and another takes its place.
    place = path.resolve()
    with moved_aside({place: manifest}):
        return run_campaign(
            testbed, campaign, seed=manifest.seed, path=place, report_progress=report_progress,
            even_if_hopeless=even_if_hopeless, repeat_void=repeat_void, like=like,
        )  # fmt: skip


def is_void(manifest: Manifest) -> bool:
    """Return whether a run that was not cut short is void."""
    return manifest.progress is RunProgress.COMPLETE and manifest.verdict == Judgement.VOID


def check_nothing_runs(testbed: Testbed) -> None:
    """Raise `TestbedBusy` if a run holds the testbed."""
    run = testbed.client.current_run()
    if run is not None:
        raise TestbedBusy(
            f"Run {run.id} ({run.request.name}) holds the testbed (wait for its end, or `testbed campaign stop`)."
        )


@contextmanager
def moved_aside(runs: Mapping[Path, Manifest]) -> Iterator[None]:
    """Move the records of `runs`, each with its manifest, aside; move them back if nothing new begins in their place.

    Raises:
        TestbedBusy: if another process still writes one of them; all stay where they are.
    """
    for path in runs:
        check_unwritten(path)
    moved = {path: path.rename(_aside(path, VOID_ASIDE if is_void(manifest) else _INTERRUPTED))
             for path, manifest in runs.items()}  # fmt: skip
    try:
        yield
    finally:
        # All or none: a repetition of before must not count beside a new run.
        if not any(path.exists() for path in moved):
            for path, kept in moved.items():
                kept.rename(path)


def _aside(path: Path, why: str) -> Path:
    """Return a free path beside `path` that says why the run there was moved."""
    names = (f"{path.name}-{why}" + ("" if number < 2 else f"-{number}") for number in itertools.count(1))
    return next(kept for name in names if not (kept := path.with_name(name)).exists())


def _campaign_of(path: Path, manifest: Manifest, void_again: bool) -> Campaign:
    if manifest.kind is not RunKind.CAMPAIGN:
        raise InvalidInput(f"{path}: is a {manifest.kind.value}; only campaigns and sweeps are resumed here.")
    if manifest.progress is RunProgress.COMPLETE and not is_void(manifest):
        raise InvalidInput(f"{path}: is complete, nothing is left to run (`testbed report {path}` shows it).")
    if is_void(manifest) and not void_again:
        raise InvalidInput(
            f"{path}: is complete, nothing is left to run; it is void, and `testbed campaign resume {path} --void` "
            "runs it once more."
        )
    return recorded_campaign(manifest.workload, source=f"{path}: workload")


def _like_before(testbed: Testbed, path: Path, manifest: Manifest) -> RecordedSchedule | None:
    """Return the schedule in `path` if it was that of another run; None if the campaign there has drawn its jobs.

    It is read before its record is moved aside. The run that it came from may be gone.

    Raises:
        InvalidInput: if it cannot be read, or a job of it is not possible on `testbed`.
    """
    if manifest.like is None:
        return None
    return RecordedSchedule(manifest.like, recorded_run(path).schedule_on(testbed).arrivals)
