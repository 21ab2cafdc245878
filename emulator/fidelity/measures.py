"""What was measured of the faithfulness of a job and of a run: values only, judged by ``verdict``.

Each measure is, as far as it can be, a bound on the relative error of a time that the testbed reports, so that one pair
of thresholds serves them all.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.model.clock import Dilation
from emulator.model.views import JobView


@dataclass(frozen=True, slots=True)
class JobMeasures:
    """A finished job's measures.

    `late_phase_share` counts the compute phases that ended late, of all phases of all processors. `lateness_share`
    bounds by how much the runtime is too long, relative to it: it adds up, from one meeting of all processors to the
    next, how far the latest was past its phase's end; where all messages are paced, a processor makes up for lateness,
    and what it is behind by at the end counts.
    `arrival_lateness_share` is how long after its intended arrival the job was submitted, relative to its response
    time. `overhead_lateness_share` is the time by which the middleware exceeded its stated overhead, relative to
    placement-to-start. None: not measured. `unpaced` is True if the processors computed at the host's own speed.
    """

    late_phase_share: float | None = None
    lateness_share: float | None = None
    arrival_lateness_share: float | None = None
    overhead_lateness_share: float | None = None
    unpaced: bool = False

    @classmethod
    def of(cls, job: JobView, dilation: Dilation) -> JobMeasures:
        """The measures that the broker's record of a job and the application's own result hold."""
        result = job.result or {}
        return cls(
            late_phase_share=_share(_number(result, "late_phases"), _number(result, "phases")),
            lateness_share=_lateness_share(result, dilation),
            arrival_lateness_share=_share(
                _elapsed(job.intended_arrival_s, job.submitted_s), _elapsed(job.submitted_s, job.finished_s)
            ),
            overhead_lateness_share=_share(job.overhead_late_s, _elapsed(job.placed_s, job.started_s)),
            unpaced=result.get("paced") is False,
        )


def _lateness_share(result: dict[str, object], dilation: Dilation) -> float | None:
    host_lateness_s = _number(result, "host_critical_lateness_s")
    if host_lateness_s is None:
        return None
    return _share(dilation.emulated_duration_s(host_lateness_s), _number(result, "runtime_s"))


def _number(result: dict[str, object], key: str) -> float | None:
    value = result.get(key)
    return float(value) if isinstance(value, int | float) else None


def _elapsed(earlier_s: float | None, later_s: float | None) -> float | None:
    return None if earlier_s is None or later_s is None else max(0.0, later_s - earlier_s)


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


@dataclass(frozen=True, slots=True)
class LinkCheck:
    """A check of the wide area: when it was made, and the largest relative error outside the checker's tolerance.

    `worst` names the link and quantity of that error; both are None where everything was within tolerance.
    `carried` is False if the router could not carry full links at the dilation in force.
    """

    moment: str
    worst_error: float | None = None
    worst: str | None = None
    carried: bool = True


@dataclass(frozen=True, slots=True)
class RunMeasures:
    """A run's measures: its checks of the wide area, and how many of its jobs ended how."""

    link_checks: tuple[LinkCheck, ...] = ()
    jobs_expected: int = 0
    jobs_failed: int = 0
    jobs_cancelled: int = 0
