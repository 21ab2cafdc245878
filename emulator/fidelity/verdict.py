"""The verdict on a job and on a run: valid, suspect or void, with reasons, by the limits in `thresholds`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from emulator.fidelity.background import BackgroundMeasures
from emulator.fidelity.conditions import Conditions
from emulator.fidelity.judgement import Judgement as Judgement
from emulator.fidelity.measures import JobMeasures, RunMeasures
from emulator.fidelity.strangers import StrangersTraffic
from emulator.fidelity.thresholds import (
    LEAST_MEMORY,
    LEAST_SHARE_IN_BAND,
    SUSPECT_CPU_PRESSURE,
    SUSPECT_DATAGRAMS,
    SUSPECT_ERROR,
    SUSPECT_HOST_WRITE_S,
    SUSPECT_IO_PRESSURE,
    SUSPECT_LATE_PHASES,
    SUSPECT_MEMORY_PRESSURE,
    SUSPECT_MISSING_TRAFFIC,
    SUSPECT_OTHER_CPU,
    SUSPECT_STOLEN,
    SUSPECT_STOLEN_CROSSING,
    SUSPECT_STRANGERS,
    SUSPECT_SWAPPED_PAGES_PER_S,
    TIMEOUT_S,
    VOID_ERROR,
)
from emulator.model.counts import number_of
from emulator.model.evidence import LinkCheck

UNPACED: Final = "processors unpaced: compute phases took this host's own time, whatever the dilation"
"""Why a job on native processors is suspect: its times are this host's and change with the dilation and the load."""
OWN_PROGRAM: Final = "a program of one's own: nothing is known of how its computing is paced, nor of its lateness"
"""Why a job with a command is suspect: unless it paces itself, it computes at this host's own speed."""


class Remedy(StrEnum):
    """The cure for a reason against a result: a larger dilation, another run (the host was busy), or nothing."""

    LARGER_DILATION = "a larger dilation"
    ANOTHER_RUN = "another run"
    NONE = "nothing"


LARGER, AGAIN, NOTHING = Remedy.LARGER_DILATION, Remedy.ANOTHER_RUN, Remedy.NONE


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgement and, unless it is valid, the reasons for it and what cures them; records keep no remedies."""

    judgement: Judgement = Judgement.VALID
    reasons: tuple[str, ...] = ()
    remedies: frozenset[Remedy] = field(default=frozenset(), compare=False)

    @classmethod
    def worst_of(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """Return the worst judgement among `verdicts`, with every distinct reason of each."""
        listed = list(verdicts)
        worst = max(
            (verdict.judgement for verdict in listed), key=lambda judgement: judgement.severity, default=Judgement.VALID
        )
        reasons = tuple(dict.fromkeys(reason for verdict in listed for reason in verdict.reasons))
        return cls(worst, reasons, frozenset(remedy for verdict in listed for remedy in verdict.remedies))


def judge_job(measures: JobMeasures) -> Verdict:
    """Judge one finished job."""
    return Verdict.worst_of(
        [
            *_judge_lateness(measures),
            _by_error(measures.arrival_lateness_share, "submitted late by {} of the response time", LARGER),
            _by_error(measures.overhead_lateness_share, "middleware late by {} of the response time", LARGER),
            _suspect_if(measures.unpaced, UNPACED, NOTHING),
            _suspect_if(measures.own_program, OWN_PROGRAM, NOTHING),
            _by_error(measures.standstill_share, "ranks stood still {} of the runtime", AGAIN),
            _judge_strangers(measures.strangers),
            *(verdict for found in measures.conditions for verdict in _judge_host(found, measures)),
        ]
    )


def _judge_lateness(measures: JobMeasures) -> list[Verdict]:
    verdicts = [_by_error(measures.lateness_share, "late by {} of the runtime", LARGER)]
    if measures.lateness_adds_up:
        late = measures.late_phase_share
        verdicts.append(_suspect_above(late, SUSPECT_LATE_PHASES, "{} of compute phases late", LARGER))
    return verdicts


def _judge_host(found: Conditions, measures: JobMeasures) -> list[Verdict]:
    """Judge the conditions on a host; the reasons name it, unless it is the first."""
    verdicts = _judge_conditions(found, measures)
    if not found.host:
        return verdicts
    return [
        replace(verdict, reasons=tuple(f"host {found.host}: {reason}" for reason in verdict.reasons))
        for verdict in verdicts
    ]


def _judge_conditions(found: Conditions, measures: JobMeasures) -> list[Verdict]:
    swapped_per_s = None if found.swapped_pages is None else found.swapped_pages / found.host_duration_s
    return [
        _suspect_above(
            found.contending_cpu_share,
            SUSPECT_OTHER_CPU,
            "other work took {} of the host's processors",
            AGAIN,
        ),
        _suspect_above(
            found.cpu_pressure, SUSPECT_CPU_PRESSURE, "some task waited for a processor {} of the time", LARGER
        ),
        _judge_stolen(found, unpaced=measures.unpaced or measures.own_program),
        _by_error(found.throttled_share, f"{found.throttled_part} throttled by its CPU quota {{}} of the time", LARGER),
        _by_error(found.stopped_share, f"{found.stopped_part} stood still {{}} of the time", AGAIN),
        _suspect_above(
            found.memory_pressure, SUSPECT_MEMORY_PRESSURE, "some task waited for memory {} of the time", AGAIN
        ),
        _suspect_below(found.least_memory_share, LEAST_MEMORY, "only {} of the host's memory available", AGAIN),
        _suspect_if(
            swapped_per_s is not None and swapped_per_s > SUSPECT_SWAPPED_PAGES_PER_S,
            f"{found.swapped_pages} pages swapped",
            AGAIN,
        ),
        _suspect_if(
            bool(found.killed_processes),
            f"{number_of(found.killed_processes or 0, 'process', 'processes')} killed for want of memory",
            AGAIN,
        ),
        _suspect_above(found.io_pressure, SUSPECT_IO_PRESSURE, "some task waited for a disk {} of the time", AGAIN),
        _suspect_if(
            found.host_write_max_s is not None and found.host_write_max_s > SUSPECT_HOST_WRITE_S,
            f"a record took {found.host_write_max_s:.1f} s of host time to reach the disk"
            if found.host_write_max_s
            else "",
            AGAIN,
        ),
        _suspect_if(
            bool(found.host_clock_step_s), f"the host's clock was set by {found.host_clock_step_s or 0.0:+.1f} s", AGAIN
        ),
        *(
            Verdict(Judgement.VOID, (f"a link was programmed anew meanwhile: {change}",), frozenset({AGAIN}))
            for change in found.changed_links
        ),
        _by_timeouts(found.unexplained_timeouts, measures.execution_s, "timeouts of TCP that no full link explains"),
        _by_timeouts(found.unasked_drops, measures.execution_s, "packets dropped that nobody asked for"),
        _suspect_above(
            found.datagram_share, SUSPECT_DATAGRAMS, "datagrams of others on its way, {} of TCP's segments", AGAIN
        ),
    ]


def _judge_strangers(found: StrangersTraffic | None) -> Verdict:
    if found is None or found.share <= SUSPECT_STRANGERS:
        return Verdict()
    judgement = Judgement.VOID if found.share > VOID_ERROR else Judgement.SUSPECT
    reason = f"traffic of others took {_percent(found.share)} of the access link {found.link}"
    return Verdict(judgement, (reason,), frozenset({AGAIN}))


def judge_traffic(missing_share: float | None) -> Verdict:
    """Judge background traffic of which a share was not sent, because the host was too busy; None if nobody knows."""
    if missing_share is None:
        return _suspect_if(True, "how much of the background traffic was sent is not recorded", AGAIN)
    reason = "{} of the background traffic could not be sent"
    return _suspect_above(missing_share, SUSPECT_MISSING_TRAFFIC, reason, LARGER)


def _judge_stolen(found: Conditions, *, unpaced: bool) -> Verdict:
    """Judge the CPU time that a hypervisor took.

    All that an unpaced job did took longer by that share; a paced job shows the effect as lateness.
    """
    if unpaced:
        return _by_error(found.stolen_wanted_share, "{} of the CPU time stolen by the hypervisor", AGAIN)
    threshold = SUSPECT_STOLEN_CROSSING if found.crosses else SUSPECT_STOLEN
    return _suspect_above(found.stolen_cpu_share, threshold, "{} of the processors stolen by the hypervisor", AGAIN)


def _by_timeouts(number: int | None, execution_s: float | None, what: str) -> Verdict:
    """Judge TCP timeouts: each may have delayed a rank by `TIMEOUT_S`."""
    if not number or not execution_s:
        return Verdict()
    error = min(1.0, number * TIMEOUT_S / execution_s)
    return _by_error(error, f"{number} {what}, worth {{}} of the execution time", LARGER)


def judge_unfinished(state: str, reason: str) -> Verdict:
    """Judge a job that failed or was cancelled: none of its times is a result."""
    return Verdict(Judgement.VOID, (f"{state}: {reason}" if reason else state,), frozenset({NOTHING}))


def judge_run(measures: RunMeasures, finished: Sequence[Verdict]) -> Verdict:
    """Judge a run whose finished jobs have the verdicts `finished`."""
    return Verdict.worst_of(
        [
            judge_links(measures.link_checks),
            _judge_completeness(measures, len(finished)),
            _judge_background(measures.background),
            _by_error(measures.wait_lateness_share, "late middleware is {} of the mean wait time", LARGER),
            _judge_strangers(measures.strangers),
            Verdict() if measures.missing_traffic_share is None else judge_traffic(measures.missing_traffic_share),
            _judge_jobs(finished),
        ]
    )


def judge_links(checks: Iterable[LinkCheck], clusters: Collection[str] | None = None) -> Verdict:
    """Judge checks of the wide area, for jobs over `clusters`; without clusters, for any job."""
    return Verdict.worst_of(_judge_check(check, clusters) for check in checks)


def judge_real(clusters: Collection[str]) -> Verdict:
    """Judge a job that used real `clusters`: nothing of them is emulated or measured."""
    reason = f"processors and links of {', '.join(sorted(clusters))} are real, not emulated"
    return _suspect_if(bool(clusters), reason, NOTHING)


def judge_unwatched(hosts: Collection[str]) -> Verdict:
    """Judge a job that ran on `hosts` whose processors and memory nobody watched."""
    return _suspect_if(bool(hosts), f"nobody watched what disturbed it on {', '.join(sorted(hosts))}", NOTHING)


def judge_clocks(checks: Iterable[LinkCheck], hosts: Collection[str], host_execution_s: float) -> Verdict:
    """Judge a job that ran on other `hosts` than the central one by what the timestamps of their clocks may be wrong.

    The difference that was measured before the run is corrected. What is left is its uncertainty, and the drift since.
    """
    errors_s: dict[str, float] = {}
    before: dict[str, float] = {}
    for check in checks:
        for host in sorted(check.underlays.keys() & set(hosts)):
            found = check.underlays[host]
            drift_s = abs(found.host_clock_ahead_s - before.setdefault(host, found.host_clock_ahead_s))
            errors_s[host] = max(errors_s.get(host, 0.0), drift_s + found.host_clock_bound_s)
    return Verdict.worst_of(
        _by_error(
            min(1.0, error_s / host_execution_s),
            f"the clock of host {host} is known to {1e3 * error_s:.1f} ms, {{}} of the execution time",
            LARGER,
        )
        for host, error_s in errors_s.items()
        if host_execution_s > 0
    )


def _judge_check(check: LinkCheck, clusters: Collection[str] | None) -> Verdict:
    if not check.carried and (clusters is None or len(set(clusters)) > 1):
        reason = f"the router does not carry the links at this dilation ({check.moment} the run)"
        return _suspect_if(True, reason, LARGER)
    worst = check.worst(clusters)
    if worst is None:
        return Verdict()
    # An error in a delay or rate changes a runtime by at most that share, so that the same thresholds hold.
    judgement = Judgement.VOID if worst.error > VOID_ERROR else Judgement.SUSPECT
    # The check itself was repeated already: another run of the job finds the same links.
    reason = f"link check {check.moment} the run: {worst.what} off by {_percent(worst.error)}"
    return Verdict(judgement, (reason,), frozenset({NOTHING}))


def _judge_background(found: BackgroundMeasures | None) -> Verdict:
    if found is None:
        return Verdict()
    if found.is_void:
        reason = f"background load above its band for {found.longest_above_s:.0f} s with no dummy job left"
        return Verdict(Judgement.VOID, (reason,), frozenset({AGAIN}))
    reason = "background load in its band for only {} of the time"
    return _suspect_below(found.share_in_band, LEAST_SHARE_IN_BAND, reason, AGAIN)


def _judge_completeness(measures: RunMeasures, finished: int) -> Verdict:
    ended = finished + measures.jobs_failed + measures.jobs_cancelled
    if ended < measures.jobs_expected:
        return Verdict(Judgement.VOID, (f"only {finished} of {number_of(measures.jobs_expected, 'job')} finished",))
    unsuccessful = measures.jobs_failed + measures.jobs_cancelled
    if unsuccessful == 0:
        return Verdict()
    judgement = Judgement.VOID if unsuccessful > VOID_ERROR * measures.jobs_expected else Judgement.SUSPECT
    return Verdict(
        judgement,
        (f"{number_of(measures.jobs_failed, 'job')} failed, {number_of(measures.jobs_cancelled, 'job')} cancelled",),
    )


def _judge_jobs(finished: Sequence[Verdict]) -> Verdict:
    """Judge a run by its jobs: few bad jobs among many change a mean by no more than their share."""
    counts = Counter(verdict.judgement for verdict in finished)
    void, suspect = counts[Judgement.VOID], counts[Judgement.SUSPECT]
    if void > VOID_ERROR * len(finished):
        judgement = Judgement.VOID
    elif void + suspect > SUSPECT_ERROR * len(finished):
        judgement = Judgement.SUSPECT
    else:
        return Verdict()
    worst = max(finished, key=lambda verdict: verdict.judgement.severity)
    are = "is" if suspect == 1 else "are"
    reason = (
        f"of {number_of(len(finished), 'job')} {suspect} {are} suspect and {void} void, such as one with "
        f"{', '.join(worst.reasons)}"
    )
    return Verdict(judgement, (reason,))


def _by_error(error: float | None, reason: str, remedy: Remedy) -> Verdict:
    if error is None or error <= SUSPECT_ERROR:
        return Verdict()
    judgement = Judgement.VOID if error > VOID_ERROR else Judgement.SUSPECT
    return Verdict(judgement, (reason.format(_percent(error)),), frozenset({remedy}))


def _suspect_above(share: float | None, threshold: float, reason: str, remedy: Remedy) -> Verdict:
    if share is None or share <= threshold:
        return Verdict()
    return Verdict(Judgement.SUSPECT, (reason.format(_percent(share)),), frozenset({remedy}))


def _suspect_below(share: float | None, threshold: float, reason: str, remedy: Remedy) -> Verdict:
    return _suspect_if(share is not None and share < threshold, reason.format(_percent(share or 0.0)), remedy)


def _suspect_if(condition: bool, reason: str, remedy: Remedy) -> Verdict:
    return Verdict(Judgement.SUSPECT, (reason,), frozenset({remedy})) if condition else Verdict()


def _percent(share: float) -> str:
    return f"{share:.1%}"
