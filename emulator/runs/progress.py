"""How far a run is, as it is reported to the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from emulator.model.job import JobState
from emulator.runs.recording import Recorder


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """The present activity of a run and, while it has jobs under way, how many jobs are in which state at `time_s`.

    `host_left_s` estimates the host seconds until its last job has ended; None if no estimate is possible. `remark` is
    a sentence that a user should be able to read later, too.
    """

    stage: str
    expected: int = 0
    submitted: int = 0
    running: int = 0
    finished: int = 0
    failed: int = 0
    time_s: float | None = None
    host_left_s: float | None = None
    remark: str = ""


ReportProgress = Callable[[ProgressReport], None]


def jobs_progress(recorder: Recorder, stage: str, expected: int, time_s: float) -> ProgressReport:
    """Report on the run whose jobs `recorder` follows."""
    return ProgressReport(
        stage,
        expected,
        recorder.submitted,
        len(recorder.running),
        recorder.count(JobState.FINISHED),
        recorder.count(JobState.FAILED) + recorder.count(JobState.CANCELLED),
        time_s,
    )
