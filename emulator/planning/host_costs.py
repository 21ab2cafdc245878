"""The costs of a testbed on this host: measured on first use, then kept until the host or the testbed changes.

The costs are in the testbeds' state folder, under a fingerprint of the host and of the images that run on it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import psutil
from pydantic import ValidationError

from emulator.containers import engine
from emulator.containers.images import current_references
from emulator.containers.state import exclusive, state_root
from emulator.planning.costs import HostCosts
from emulator.planning.host_probe import probe_host
from emulator.planning.host_readings import host_costs_from
from emulator.runs.progress import ProgressReport, ReportProgress
from emulator.runs.surroundings import host

_PURPOSE = "host-costs"
_LOAD_HOST_S = 2.0
"""How long it is looked whether the host is idle; the kernel's load average still tells of a testbed that came up."""


def host_costs(report_progress: ReportProgress, *, again: bool = False) -> HostCosts:
    """The costs of this host: remembered ones, unless there are none, they are out of date, or it is to be `again`.

    Raises:
        EngineUnavailable: if Docker is missing, stopped or fails.
        RunFailed: if the host could not be measured.
    """
    fingerprint = _fingerprint()
    known = None if again else remembered_costs(fingerprint)
    if known is not None:
        return known
    with exclusive(_PURPOSE, wait=True):
        known = None if again else remembered_costs(fingerprint)
        if known is not None:
            return known
        report_progress(ProgressReport("measuring this host, which takes eight minutes"))
        load = psutil.cpu_percent(interval=_LOAD_HOST_S) / 100
        costs = host_costs_from(probe_host(report_progress), fingerprint, load)
        _file().write_text(costs.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return costs


def known_host_costs() -> HostCosts | None:
    """Return the costs of this host if they were measured and are not out of date."""
    return remembered_costs(_fingerprint())


def remembered_costs(fingerprint: str) -> HostCosts | None:
    """Return the costs that were measured under that fingerprint; None if there are none, or they cannot be read."""
    try:
        costs = HostCosts.model_validate_json(_file().read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None
    return costs if costs.fingerprint == fingerprint else None


def _file() -> Path:
    return state_root() / f"{_PURPOSE}.json"


def _fingerprint() -> str:
    """Return the host, the nodes' image and the router's: what the costs are the costs of."""
    images = current_references(engine.connect())
    known = json.dumps([host(), images.node, images.wan], sort_keys=True)
    return hashlib.sha256(known.encode()).hexdigest()[:16]
