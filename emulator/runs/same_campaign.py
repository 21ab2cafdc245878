"""What runs of one campaign have in common, what tells them apart, and what simulations of it assume."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from emulator.model.records import Manifest
from emulator.model.topology import Topology
from emulator.runs.seeds import FILE_KIND, has_list_per_seed, listed_jobs

_NOT_THE_CAMPAIGNS: Final = frozenset(
    {"dilation", "policy", "queue", "sources", "left_out", "topology", "background", FILE_KIND}
)
"""What a campaign's record states of the host, the scheduling and its log, not of the jobs and their conditions.

The topology, which may be a path, counts as a whole (`system_of`). So does the background load, without paths.
"""

_ASSUMED: Final = ("times", "options", "jobs_per_link")
"""What the record of a simulation states of its assumptions, and not of what it repeats or drew."""


def campaign_of(manifest: Manifest) -> str:
    """Return, as text, all that runs of one campaign have in common whatever their policy, seed and dilation."""
    # Records of an older version lack keys, also of jobs, that may be None.
    stated = {
        name: value for name, value in manifest.workload.items() if name not in _NOT_THE_CAMPAIGNS and value is not None
    }
    load = _load_of(manifest.workload.get("background") or {})
    jobs = [manifest.time_scale, stated | _jobs_of(manifest), load]
    whole = [manifest.kind, manifest.name, system_of(manifest), jobs, assumptions_of(manifest)]
    return json.dumps(whole, sort_keys=True)


def _jobs_of(manifest: Manifest) -> dict[str, Any]:
    """Return what a record states of its jobs: those of its list, or of the list alone where each seed has its own."""
    workload, listed = manifest.workload, listed_jobs(manifest.workload)
    stated = {name: value for name, value in (workload.get("job_list") or {}).items() if value is not None}
    if has_list_per_seed(workload):
        # Lists may differ in their length, of which `jobs` tells only if it is less.
        jobs = workload.get("jobs", 0)
        return {"job_list": stated, "listed": [], "jobs": None if jobs >= len(listed) else jobs}
    # The jobs have the arrivals that the factor gave them.
    stated.pop("interarrival_factor", None)
    return {"job_list": stated, "listed": listed, "number": manifest.jobs}


def _load_of(background: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record states of a background load; a log counts by its digest, where that is known."""
    stated = {name: value for name, value in background.items() if value is not None}
    if "log_digest" in stated:
        stated.pop("local_jobs", None)
    return stated


def system_of(manifest: Manifest) -> str:
    """Return, as text, what a topology states of its multicluster: two of one name may have other links or costs."""
    return without_hosts(manifest.topology).model_dump_json()


def without_hosts(topology: Topology) -> Topology:
    """Return `topology` without what it states of the hosts that carry it, of the ways to them, and of predictions."""
    clusters = tuple(cluster.model_copy(update={"on": None, "ssh": None}) for cluster in topology.clusters)
    stated = {"description": "", "uncertainty": None, "clusters": clusters}
    return topology.model_copy(update=stated)


def clusters_of(manifest: Manifest) -> list[tuple[str, int]]:
    """Return each cluster with its processors: generated topologies of different clusters share a name."""
    return [(cluster.name, cluster.processors) for cluster in manifest.topology.clusters]


def assumptions_of(manifest: Manifest) -> dict[str, Any]:
    """Return what a simulation assumed, by name; None for what its record does not state, and for all of a live run."""
    simulated = manifest.simulated or {}
    return {name: simulated.get(name) for name in _ASSUMED}


def scheduling_of(manifest: Manifest) -> tuple[str, str, str]:
    """Return policy and queue of a run, and as text the sources of those that are the user's own."""
    return manifest.policy, manifest.queue, json.dumps(manifest.workload.get("sources", {}), sort_keys=True)
