"""The verdict on a job and on a run - valid, suspect or void - and the thresholds it follows, each with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from emulator.fidelity.measures import JobMeasures, LinkCheck, RunMeasures

SUSPECT_ERROR: Final = 0.03
"""Above this bound on the relative error of a time, the time is suspect.

Three percent is the tolerance to which links are verified, and the difference between measurements at K and 2K above
which one of them must be wrong.
"""

VOID_ERROR: Final = 0.10
"""Above this bound on the relative error of a time, the time is void.

The published extension factors that matter lie between 1.05 and 1.25: an error of a tenth can turn one into another.
"""

SUSPECT_LATE_PHASES: Final = 0.5
"""Above this share of late phases a job is suspect, however little they were late.

How much time was lost is judged by the lateness itself. But where most phases cannot end in time, the host's cores are
contended, and what contention costs the messages between phases shows in no lateness.
"""

SUSPECT_OVERHEAD: Final = 0.05
"""Above this share of the time from placement to start, middleware slower than stated makes a job suspect.

It lengthens wait and response times, which queueing dominates, and no execution time: hence more than `SUSPECT_ERROR`.
"""

UNPACED: Final = "processors unpaced: compute phases took this host's own time, whatever the dilation"
"""Why a job on native processors is suspect: its times are this host's and change with the dilation and the load."""


class Judgement(StrEnum):
    """How far a figure may be believed; ordered from best to worst by `severity`."""

    VALID = "valid"
    SUSPECT = "suspect"
    VOID = "void"

    @property
    def severity(self) -> int:
        """0 for valid, 1 for suspect, 2 for void."""
        return list(Judgement).index(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgement and, unless it is valid, the reasons for it."""

    judgement: Judgement = Judgement.VALID
    reasons: tuple[str, ...] = ()

    @classmethod
    def worst_of(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """The worst judgement among `verdicts`, with every distinct reason of each."""
        listed = list(verdicts)
        worst = max((verdict.judgement for verdict in listed), key=lambda it: it.severity, default=Judgement.VALID)
        return cls(worst, tuple(dict.fromkeys(reason for verdict in listed for reason in verdict.reasons)))


def judge_job(measures: JobMeasures) -> Verdict:
    """The verdict on one finished job."""
    return Verdict.worst_of(
        [
            _by_error(measures.lateness_share, "compute phases late by {} of the runtime"),
            _suspect_above(measures.late_phase_share, SUSPECT_LATE_PHASES, "{} of compute phases late"),
            _by_error(measures.arrival_lateness_share, "submitted late by {} of the response time"),
            _suspect_above(measures.overhead_lateness_share, SUSPECT_OVERHEAD, "middleware late by {} of the overhead"),
            Verdict(Judgement.SUSPECT, (UNPACED,)) if measures.unpaced else Verdict(),
        ]
    )


def judge_unfinished(state: str, reason: str) -> Verdict:
    """The verdict on a job that failed or was cancelled: none of its times is a result."""
    return Verdict(Judgement.VOID, (f"{state}: {reason}" if reason else state,))


def judge_run(measures: RunMeasures, finished: Sequence[Verdict]) -> Verdict:
    """The verdict on a run whose finished jobs have the verdicts `finished`."""
    return Verdict.worst_of(
        [
            *(_judge_links(check) for check in measures.link_checks),
            _judge_completeness(measures, len(finished)),
            _judge_jobs(finished),
        ]
    )


def _judge_links(check: LinkCheck) -> Verdict:
    """An error in a delay or rate changes a runtime by at most that share, so that the same thresholds hold."""
    if not check.carried:
        return Verdict(
            Judgement.SUSPECT, (f"the router does not carry the links at this dilation ({check.moment} the run)",)
        )
    if check.worst_error is None:
        return Verdict()
    judgement = Judgement.VOID if check.worst_error > VOID_ERROR else Judgement.SUSPECT
    return Verdict(
        judgement, (f"link check {check.moment} the run: {check.worst} off by {_percent(check.worst_error)}",)
    )


def _judge_completeness(measures: RunMeasures, finished: int) -> Verdict:
    ended = finished + measures.jobs_failed + measures.jobs_cancelled
    if ended < measures.jobs_expected:
        return Verdict(Judgement.VOID, (f"only {finished} of {measures.jobs_expected} jobs finished",))
    unsuccessful = measures.jobs_failed + measures.jobs_cancelled
    if unsuccessful == 0:
        return Verdict()
    judgement = Judgement.VOID if unsuccessful > VOID_ERROR * measures.jobs_expected else Judgement.SUSPECT
    return Verdict(
        judgement,
        (f"{measures.jobs_failed} jobs failed and {measures.jobs_cancelled} were cancelled",),
    )


def _judge_jobs(finished: Sequence[Verdict]) -> Verdict:
    """Few bad jobs among many spoil a mean by no more than their share."""
    counts = Counter(verdict.judgement for verdict in finished)
    void, suspect = counts[Judgement.VOID], counts[Judgement.SUSPECT]
    if void > VOID_ERROR * len(finished):
        judgement = Judgement.VOID
    elif void + suspect > SUSPECT_ERROR * len(finished):
        judgement = Judgement.SUSPECT
    else:
        return Verdict()
    worst = max(finished, key=lambda verdict: verdict.judgement.severity)
    reason = (
        f"of {len(finished)} jobs {suspect} are suspect and {void} void, such as one with {', '.join(worst.reasons)}"
    )
    return Verdict(judgement, (reason,))


def _by_error(error: float | None, reason: str) -> Verdict:
    if error is None or error <= SUSPECT_ERROR:
        return Verdict()
    judgement = Judgement.VOID if error > VOID_ERROR else Judgement.SUSPECT
    return Verdict(judgement, (reason.format(_percent(error)),))


def _suspect_above(share: float | None, threshold: float, reason: str) -> Verdict:
    if share is None or share <= threshold:
        return Verdict()
    return Verdict(Judgement.SUSPECT, (reason.format(_percent(share)),))


def _percent(share: float) -> str:
    return f"{share:.1%}"
