"""Measures of the faithfulness of a job and of a run: values only, judged by `verdict`.

Each measure is, where possible, a bound on the relative error of a time that the testbed reports, so that one pair of
thresholds serves them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from emulator.fidelity.background import BackgroundMeasures
from emulator.fidelity.conditions import Conditions
from emulator.fidelity.strangers import StrangersTraffic
from emulator.model.clock import Dilation
from emulator.model.evidence import LinkCheck
from emulator.model.interconnects import SHARED_MEMORY, WIDE_AREA
from emulator.model.rows import JOINED_BY
from emulator.model.views import JobView


@dataclass(frozen=True, slots=True)
class JobMeasures:
    """The measures of a finished job; None: not measured.

    `late_phase_share` is the share of late compute phases among all phases of all processors. `lateness_share` bounds
    by how much the runtime is too long, relative to the runtime. It sums, from one meeting of all processors to the
    next, how late messages that are not paced left the latest processor, and how late the job ends. `lateness_adds_up`
    is False if all messages are paced: then only the end counts. `arrival_lateness_share` is the delay of the
    submission after the intended arrival, relative to the response time. `overhead_lateness_share` is the time by which
    the middleware exceeded its stated overhead, relative to the response time. `unpaced` is True if the processors
    computed at the host's own speed, `own_program` if it ran a program of the user's own. `conditions` are those during
    its execution, `execution_s` long, on each host that was looked at, the first host's first. `standstill_share` is
    the time in which some rank stood still while it sent or awaited real messages, relative to the runtime, which may
    be too long by it. `strangers` is what others sent over the job's access links.
    """

    late_phase_share: float | None = None
    lateness_share: float | None = None
    lateness_adds_up: bool = True
    arrival_lateness_share: float | None = None
    overhead_lateness_share: float | None = None
    unpaced: bool = False
    own_program: bool = False
    execution_s: float | None = None
    conditions: tuple[Conditions, ...] = ()
    standstill_share: float | None = None
    strangers: StrangersTraffic | None = None

    @classmethod
    def of(
        cls,
        job: JobView,
        dilation: Dilation,
        conditions: tuple[Conditions, ...] = (),
        strangers: StrangersTraffic | None = None,
    ) -> JobMeasures:
        """Return the measures of a job: from its record, its application's result, and the evidence about it."""
        result = job.result or {}
        return cls(
            late_phase_share=_share(_number(result, "late_phases"), _number(result, "phases")),
            lateness_share=_lateness_share(result, dilation),
            lateness_adds_up=_lateness_adds_up(result),
            arrival_lateness_share=_share(
                _elapsed(job.intended_arrival_s, job.submitted_s), _elapsed(job.submitted_s, job.finished_s)
            ),
            overhead_lateness_share=_share(job.overhead_late_s, _elapsed(job.submitted_s, job.finished_s)),
            unpaced=result.get("paced") is False,
            own_program=bool(job.specification.command),
            execution_s=_elapsed(job.started_s, job.finished_s),
            conditions=conditions,
            standstill_share=_share(_number(result, "standstill_s"), _number(result, "runtime_s")),
            strangers=strangers,
        )


def _lateness_adds_up(result: dict[str, object]) -> bool:
    """Return whether messages pass lateness on: real ones do, between clusters or through shared memory."""
    interconnects = str(result.get("interconnects", SHARED_MEMORY)).split(JOINED_BY)
    return SHARED_MEMORY in interconnects or WIDE_AREA in interconnects


def _lateness_share(result: dict[str, object], dilation: Dilation) -> float | None:
    host_lateness_s = _number(result, "host_critical_lateness_s")
    if host_lateness_s is None:
        return None
    return _share(dilation.emulated_duration_s(host_lateness_s), _number(result, "runtime_s"))


def _number(result: dict[str, object], key: str) -> float | None:
    value = result.get(key)
    return float(value) if isinstance(value, int | float) else None


def wait_lateness_share(finished: Iterable[JobView]) -> float | None:
    """Return the part of these jobs' mean wait time that is the middleware's lateness; None if it is not known."""
    late_s = wait_s = 0.0
    for job in finished:
        job_wait_s = _elapsed(job.submitted_s, job.started_s)
        if job.overhead_late_s is not None and job_wait_s is not None:
            late_s += job.overhead_late_s
            wait_s += job_wait_s
    return _share(late_s, wait_s)


def _elapsed(earlier_s: float | None, later_s: float | None) -> float | None:
    return None if earlier_s is None or later_s is None else max(0.0, later_s - earlier_s)


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


@dataclass(frozen=True, slots=True)
class RunMeasures:
    """The measures of a run: its checks of the wide area, the numbers of its jobs by outcome, and its background load.

    `background` is None without such a load, `strangers` if what others sent cannot be told from what the jobs did.
    `wait_lateness_share` is the part of the jobs' mean wait time that is the middleware's lateness; it is None if the
    middleware is not paced, `missing_traffic_share` what was not sent of the background traffic; None without any.
    """

    link_checks: tuple[LinkCheck, ...] = ()
    jobs_expected: int = 0
    jobs_failed: int = 0
    jobs_cancelled: int = 0
    background: BackgroundMeasures | None = None
    strangers: StrangersTraffic | None = None
    wait_lateness_share: float | None = None
    missing_traffic_share: float | None = None
