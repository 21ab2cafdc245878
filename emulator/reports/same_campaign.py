"""What runs of one campaign have in common, and what tells them apart."""

from __future__ import annotations

import json
from typing import Final

from emulator.model.records import Manifest

_NOT_THE_CAMPAIGNS: Final = frozenset({"dilation", "policy", "queue", "sources"})
"""What a campaign's record states of the host and of the scheduling, and not of the jobs and their conditions."""

_ASSUMED: Final = frozenset({"times", "options", "jobs_per_link"})
"""What the record of a simulation states of its assumptions, and not of what it repeats or drew."""


def campaign_of(manifest: Manifest) -> str:
    """Return, as text, all that runs of one campaign have in common whatever their policy, seed and dilation."""
    stated = {name: value for name, value in manifest.workload.items() if name not in _NOT_THE_CAMPAIGNS}
    # Generated topologies of different clusters share a name.
    clusters = [[cluster.name, cluster.processors] for cluster in manifest.topology.clusters]
    system = [manifest.topology.name, clusters]
    simulated = {name: value for name, value in (manifest.simulated or {}).items() if name in _ASSUMED}
    return json.dumps(
        [manifest.kind, manifest.name, system, manifest.time_scale, manifest.jobs, stated, simulated], sort_keys=True
    )


def scheduling_of(manifest: Manifest) -> tuple[str, str, str]:
    """Return policy and queue of a run, and as text the sources of those that are the user's own."""
    return manifest.policy, manifest.queue, json.dumps(manifest.workload.get("sources", {}), sort_keys=True)
