"""Campaigns for tests whose jobs stand in files: one for all seeds, or one for each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path


def write_list(path: Path, jobs: int, apart_s: float = 1.0, service_s: float = 20.0) -> Path:
    """Write so many jobs of two components of 4 processors, each of which arrives so long after the one before."""
    listed = [
        {"id": number, "arrival_s": apart_s * number, "service_s": service_s + number, "components": [4, 4]}
        for number in range(jobs)
    ]
    path.write_text("".join(json.dumps(job) + "\n" for job in listed), encoding="utf-8")
    return path


def campaign_with_a_list(folder: Path, job_list: str = "jobs.jsonl", more: str = "") -> Path:
    """Write a campaign on `mini` whose jobs are those of `job_list`."""
    path = folder / "mine.yaml"
    stated = f"job_list: {job_list}\napplication: poisson\narguments: {{grid: 400, tolerance: 0}}\n"
    path.write_text(f"name: mine\ntopology: mini\n{stated}{more}", encoding="utf-8")
    return path


def campaign_with_lists(folder: Path, seeds: Sequence[int], more: str = "") -> Path:
    """Write a campaign, and for each seed a list, all of which differ in their arrivals and in their length."""
    for seed in seeds:
        write_list(folder / f"jobs-{seed}.jsonl", jobs=4 + seed, apart_s=float(seed))
    return campaign_with_a_list(folder, "jobs-{seed}.jsonl", more)
