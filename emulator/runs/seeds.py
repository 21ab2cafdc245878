"""What the seeds of a campaign draw, and what tells its cases apart, by the records of its runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from emulator.model.records import Manifest
from emulator.model.topology import Topology
from emulator.policies.names import NODE_QUEUES, QUEUES
from workloads.stated_jobs import SEED

JOBS: Final = "jobs"
"""What a seed draws first of all."""

FILE_KIND: Final = "file_kind"
"""The key under which a record says which kind of file was simulated as it is, without a campaign; `LIST` or `LOG`."""
LIST: Final = "list"
LOG: Final = "log"

ESTIMATES: Final = "estimates"
"""What a seed draws if a simulation draws the estimates of users."""

_WITH_LOCAL_QUEUES: Final = frozenset({"ls-or", "ls-rd", "ls-ro", "ls-do", "gp", "lp-lf", "lp-gf", "lp-rd"})
"""The disciplines of the testbed with a queue for each cluster; a unit test compares them with their traits."""

_WITH_CHANCE: Final = frozenset({"ls-rd", "lp-rd"})


def has_list_per_seed(workload: Mapping[str, Any]) -> bool:
    """Return whether each seed of the campaign with this record has a job list of its own."""
    return SEED in str((workload.get("job_list") or {}).get("file", ""))


def case_of(manifest: Manifest) -> tuple[int, str]:
    """Return what tells the cases of a campaign apart, each of which is the same under all policies.

    It is the seed and, where each seed has a job list of its own, its jobs as text: the list may have been changed.
    """
    workload = manifest.workload
    if not has_list_per_seed(workload):
        return manifest.seed, ""
    return manifest.seed, json.dumps([manifest.jobs, listed_jobs(workload)], sort_keys=True)


def listed_jobs(workload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the jobs of a list that a record holds, without keys that are None, which an older version lacks."""
    return [{key: value for key, value in job.items() if value is not None} for job in workload.get("listed") or ()]


def drawn_in(manifests: Sequence[Manifest]) -> tuple[str, ...]:
    """Return in words what the seeds of runs of one campaign draw, under any of their queues."""
    return tuple(dict.fromkeys(name for manifest in manifests for name in _drawn(manifest)))


def _drawn(manifest: Manifest) -> list[str]:
    drawn = drawn_by_seed(manifest.workload, manifest.queue, manifest.topology)
    factor = ((manifest.simulated or {}).get("options") or {}).get("estimate_factor")
    return [*drawn, *([] if factor is None else [ESTIMATES])]


def drawn_by_seed(workload: Mapping[str, Any], queue: str, topology: Topology) -> tuple[str, ...]:
    """Return in words what the seed of a campaign draws under a queue on a topology; nothing if all seeds are alike.

    `workload` is the record of the campaign, or of a file that was simulated as it is. The jobs count as drawn, unless
    one list or log states them for all seeds.
    """
    if FILE_KIND not in workload and (not workload.get("job_list") or has_list_per_seed(workload)):
        return (JOBS,)
    # A job of a list names its queue; the format of logs has none.
    has_homes = workload.get(FILE_KIND) != LOG and all(job.get("queue") is not None for job in listed_jobs(workload))
    found = {
        "the background load": bool(workload.get("background")),
        "input files": bool(workload.get("input_files")),
        "local users": topology.time_sharing is not None,
        "the queues of jobs": queue in _WITH_LOCAL_QUEUES and not has_homes,
        # Whether a user's own discipline takes random numbers cannot be seen.
        "choices of the queue": queue in _WITH_CHANCE or queue not in QUEUES | NODE_QUEUES,
    }
    return tuple(name for name, is_drawn in found.items() if is_drawn)


def same_jobs_in_words(campaign: str, drawn: Sequence[str]) -> str:
    """Return the sentence that the jobs of a campaign are the same with every seed; empty if the seed draws them.

    `drawn` is what the seed draws.
    """
    if JOBS in drawn:
        return ""
    if drawn:
        return f"The jobs of {campaign} are the same with every seed, which draws only {' and '.join(drawn)}."
    return (
        f"Nothing in {campaign} depends on the seed: its runs are repeats of one case (n = 1), which has no interval "
        "over seeds."
    )
