"""Run directories for tests of reports: a simulated campaign, with what only a live run records added to its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.model.records import ComponentRow, JobRow, LinkRow, RunKind
from emulator.runs.run_directory import read_manifest, read_rows, replace_manifest, replace_rows

CLAIM_DELAY_S = 0.5
"""How long after its placement a job's processors are claimed in these records."""


def simulated_run(
    path: Path,
    campaign: str = "W1",
    *,
    policy: str = "wf",
    jobs: int = 30,
    seed: int = 1,
    factor: float = 1.0,
    workload: dict[str, Any] | None = None,
    manifest: dict[str, Any] | None = None,
    job: dict[str, Any] | None = None,
) -> Path:
    """Write the directory of a run that looks live, without background; `manifest` and `job` change its records."""
    options = SimulationOptions(policy=policy, jobs=jobs, seed=seed, runtime=factor, band="none")
    simulate_workload(campaign, options, out=path)
    changes = {"kind": RunKind.CAMPAIGN, "workload": workload or {}, **(manifest or {})}
    replace_manifest(path, read_manifest(path).model_copy(update=changes))
    replace_rows(path, JobRow, [row.model_copy(update=_claimed(row) | (job or {})) for row in read_rows(path, JobRow)])
    components = [
        row.model_copy(update={"claimed_s": (row.placed_s or 0.0) + CLAIM_DELAY_S})
        for row in read_rows(path, ComponentRow)
    ]
    replace_rows(path, ComponentRow, components)
    replace_rows(path, LinkRow, [_link("before", "delay", asked_s=0.002, measured_s=0.0021, within=True),
                                 _link("after", "rate", asked_mbit=100, measured_mbit=80, within=False)])  # fmt: skip
    return path


def _claimed(row: JobRow) -> dict[str, Any]:
    claimed_s = (row.placed_s or 0.0) + CLAIM_DELAY_S
    return {
        "arguments": "{}", "claiming_tries": 1, "estimated_transfer_s": 0.0, "additional_claiming_s": 0.0,
        "claimed_s": claimed_s, "processor_gained_time_s": claimed_s - (row.placed_s or 0.0),
        "processor_wasted_time_s": (row.started_s or 0.0) - claimed_s, "runtime_s": row.execution_time_s,
    }  # fmt: skip


def _link(moment: str, quantity: str, **measured: Any) -> LinkRow:
    ends = {"source": "vrije-universiteit", "target": "amsterdam"}
    return LinkRow.model_validate({"moment": moment, "dilation": 1, "quantity": quantity, **ends, **measured})
