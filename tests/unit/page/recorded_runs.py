"""A small recorded run with everything that the page shows, among it text that must stay text."""

from __future__ import annotations

import json
from pathlib import Path

from emulator.model.catalogue import topology_named
from emulator.model.evidence import EvidenceRow, LinkCheck, LinkFault
from emulator.model.records import BackgroundRow, ComponentRow, JobRow, LinkRow, Manifest, RunKind, RunProgress
from emulator.runs.run_directory import RunDirectory

HOSTILE = "<script>document.title='owned'</script>"
REASONS = "12.0% of compute phases late; some task waited for a processor 71.0% of the time"
FINISHED = {"state": "finished", "submitted_s": 1.0, "placed_s": 2.0, "claimed_s": 3.5, "started_s": 8.0,
            "finished_s": 60.0, "released_s": 61.0, "placement_tries": 3, "exit_code": 0, "phases": 100,
            "late_phases": 12}  # fmt: skip


def manifest(**changes: object) -> Manifest:
    stated = {
        "kind": RunKind.CAMPAIGN, "name": "evening", "progress": RunProgress.COMPLETE, "verdict": "suspect",
        "verdict_reasons": ("of 3 jobs 1 are suspect and 1 void, such as one with late",),
        "topology": topology_named("mini"), "workload": {"background": {"band": [0.15, 0.2]}}, "jobs": 3,
        "policy": "cm", "queue": "placement", "seed": 7, "dilation": 2.5, "paced_middleware": True,
        "host_began_at": "2026-01-01T00:00:00",
        "link_checks": (LinkCheck("before", (LinkFault("delay", 0.05, None, None),)), LinkCheck("after")),
        "host": {}, "versions": {},
    }  # fmt: skip
    return Manifest.model_validate(stated | changes)


def write_run(path: Path, **changes: object) -> Path:
    """Write the run of three jobs: one over two clusters, one that failed under a hostile name, one cancelled early."""
    first, second = topology_named("mini").cluster_names[:2]
    asked = {"application": "poisson", "request": "non-fixed", "verdict": "valid"}
    with RunDirectory(path, manifest(**changes)) as directory:
        spanning = FINISHED | {"components": (8, 4), "processors": 12, "verdict": "suspect", "verdict_reasons": REASONS}
        directory.append(JobRow(job=1, name="first", arguments='{"grid": 400}', execution_clusters=(first, second),
                                clusters=2, **asked | spanning))  # fmt: skip
        failed = {"components": (4,), "processors": 4, "state": "failed", "reason": HOSTILE, "verdict": "void",
                  "verdict_reasons": f"failed: {HOSTILE}", "submitted_s": 5.0, "placed_s": 9.0}  # fmt: skip
        directory.append(JobRow(job=2, name=HOSTILE, execution_clusters=(second,), **asked | failed))
        directory.append(JobRow(job=3, name="third", components=(99,), processors=99, state="cancelled",
                                submitted_s=6.0, **asked | {"verdict": "void"}))  # fmt: skip
        for number, (cluster, size) in enumerate(((first, 8), (second, 4))):
            directory.append(ComponentRow(job=1, component=number, cluster=cluster, processors=size, allocation="77",
                                          placed_s=2.0, claimed_s=3.0 + number / 2, released_s=61.0))  # fmt: skip
        for time_s, dummy in ((0.0, 2), (30.0, 6)):
            directory.append(BackgroundRow(time_s=time_s, cluster=first, processors=8, dummy_processors=dummy,
                                           local_processors=1, grid_processors=0))  # fmt: skip
        directory.append(LinkRow(moment="before", dilation=2.5, source=first, target=second, quantity="delay",
                                 asked_s=0.005, measured_s=0.00502, within=True))  # fmt: skip
        directory.append(EvidenceRow(time_s=10.0, host_interval_s=2.0, part="host", host_cpu_wait_s=0.5))
    early = {"sequence": 9, "run": 1, "kind": "failed", "time_s": 40.0, "job": {"id": 2, "result": {}}}
    (path / "decisions.jsonl").write_text(
        json.dumps(early, separators=(",", ":")) + '\n{"sequence":10,"run":1,"kind":"fail'
    )
    return path
