"""A plan kept with its run: the predictions, beside what the run then showed.

It stands in the run's manifest. A prediction is of every job; of jobs of one name it is what one of them takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from emulator.model.job import JobState
from emulator.model.records import JobRow, Manifest
from emulator.planning.costs import HostCosts
from emulator.planning.plan import Plan, PlannedRun
from emulator.runs.run_directory import read_manifest, read_run, replace_manifest

ALL_JOBS: Final = "all jobs"
OUTCOMES: Final = "outcomes"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was predicted of the jobs of one name, and what they showed: late phases, and CPU seconds of one of them."""

    name: str
    predicted_late_phase_share: float
    late_phase_share: float
    predicted_host_cpu_s: float
    host_cpu_s: float


@dataclass(frozen=True, slots=True)
class DilationChoice:
    """The dilation of a run, and the plan that it came of or was held against; no plan if the host is unknown."""

    dilation: float
    run: PlannedRun
    plan: Plan | None = None
    costs: HostCosts | None = None

    def keep(self, path: Path) -> list[Outcome]:
        """Write the plan and what became of it into the manifest of the run in `path`; returns that, all jobs last."""
        if self.plan is None or self.costs is None:
            return []
        found = outcomes(self.run, self.plan, read_run(path).jobs)
        manifest = read_manifest(path)
        kept = {**described(self.plan, self.costs), OUTCOMES: [asdict(outcome) for outcome in found]}
        replace_manifest(path, manifest.model_copy(update={"plan": kept}))
        return found


def kept_outcome(manifest: Manifest) -> Outcome | None:
    """What was predicted of all jobs of a run and what they showed, as its manifest holds it; None if it does not."""
    kept = (manifest.plan or {}).get(OUTCOMES, [])
    return next((Outcome(**outcome) for outcome in kept if outcome["name"] == ALL_JOBS), None)


def described(plan: Plan, costs: HostCosts) -> dict[str, object]:
    """Return the plan as a manifest and `--json` show it."""
    return {
        "dilation": plan.dilation,
        "faithful": plan.faithful,
        "hopeless": [constraint.name for constraint in plan.hopeless],
        "binding": plan.binding.name,
        "late_phase_share": plan.late_phase_share,
        "host_cpu_s": plan.host_cpu_s,
        "host_packets_per_s": plan.host_packets_per_s,
        "memory_bytes": plan.memory_bytes,
        "disk_bytes": plan.disk_bytes,
        "host_duration_s": plan.host_duration_s,
        "constraints": {constraint.name: constraint.share for constraint in plan.constraints},
        "host_measured_at": costs.measured_at,
        "host_load": costs.load,
    }


def outcomes(run: PlannedRun, plan: Plan, rows: Sequence[JobRow]) -> list[Outcome]:
    """What was predicted of each planned job beside what the finished jobs of its name showed; all jobs last."""
    found: list[Outcome] = []
    total = _Tally()
    for job, predicted in zip(run.jobs, plan.jobs, strict=True):
        own = [row for row in rows if row.name == job.name and row.state == JobState.FINISHED and row.phases]
        if not own:
            continue
        late, phases = sum(row.late_phases or 0 for row in own), sum(row.phases or 0 for row in own)
        cpu_s = sum(row.host_cpu_s or 0.0 for row in own)
        found.append(
            Outcome(job.name, predicted.late_phase_share, late / phases, predicted.host_cpu_s, cpu_s / len(own))
        )
        total.add(late, phases, cpu_s, predicted.late_phase_share, len(own) * predicted.host_cpu_s)
    if total.phases:
        found.append(total.outcome())
    return found


@dataclass(slots=True)
class _Tally:
    """All jobs together."""

    late: int = 0
    phases: int = 0
    host_cpu_s: float = 0.0
    predicted_late: float = 0.0
    predicted_host_cpu_s: float = 0.0

    def add(self, late: int, phases: int, host_cpu_s: float, late_share: float, predicted_host_cpu_s: float) -> None:
        self.late += late
        self.phases += phases
        self.host_cpu_s += host_cpu_s
        self.predicted_late += late_share * phases
        self.predicted_host_cpu_s += predicted_host_cpu_s

    def outcome(self) -> Outcome:
        return Outcome(
            ALL_JOBS,
            self.predicted_late / self.phases,
            self.late / self.phases,
            self.predicted_host_cpu_s,
            self.host_cpu_s,
        )
