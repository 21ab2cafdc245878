"""Everything that SMPI needs to predict a job's iteration: platform, hosts, parameters, skeleton, and how to run it.

Where SimGrid's models know better than the testbed - factors on rate and latency fitted to another machine, traffic of
acknowledgements, a lag of small messages - they are switched off: the prediction is that of the topology's own numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.interconnects import Interconnect
from emulator.model.topology import Topology
from emulator.reports.exports.grid_skeleton import SkeletonJob, host_list, skeleton_parameters
from emulator.reports.exports.simgrid_platform import render_platform

PLATFORM_FILE: Final = "platform.xml"
HOSTS_FILE: Final = "hosts"
PARAMETERS_FILE: Final = "parameters.json"
SKELETON_FILE: Final = "grid_skeleton.c"
COMMANDS_FILE: Final = "predict.sh"

_PROGRAM: Final = "grid_skeleton"
_EAGER_BYTES: Final = 65536
_SETTINGS: Final[Mapping[str, str]] = {
    "network/model": "CM02",
    "network/latency-factor": "1",
    "network/bandwidth-factor": "1",
    "network/weight-S": "0",
    "network/crosstraffic": "0",
    "smpi/simulate-computation": "no",
    # A message leaves when it is sent, whether or not its receiver waits for it already.
    "smpi/async-small-thresh": str(_EAGER_BYTES),
    "smpi/send-is-detached-thresh": str(_EAGER_BYTES),
}


def simgrid_files(topology: Topology, interconnect: Interconnect | None, job: SkeletonJob) -> dict[str, str]:
    """Return the files, by name, with which SMPI predicts `job` with `interconnect` inside clusters.

    Raises:
        InvalidInput: if one of its clusters is real, the processor has no speed, or the job cannot be divided or does
            not fit.
    """
    topology = _emulated(topology, job)
    among = topology.among(job.processes)
    if interconnect is not None:
        interconnect = interconnect.stretched(topology.collectives.stretch(job.processes))
    return {
        PLATFORM_FILE: render_platform(among, interconnect),
        HOSTS_FILE: "".join(f"{host}\n" for host in host_list(topology, job)),
        PARAMETERS_FILE: _json(skeleton_parameters(topology, interconnect, job)),
        SKELETON_FILE: Path(__file__).with_name(SKELETON_FILE).read_text(encoding="utf-8"),
        COMMANDS_FILE: "\n".join(
            ["#!/bin/sh -e", "# Needs SimGrid (Debian: libsimgrid-dev).", 'cd "$(dirname "$0")"', *commands(job), ""]
        ),
    }


def _emulated(topology: Topology, job: SkeletonJob) -> Topology:
    """Return the topology without its real clusters, none of which `job` may use."""
    emulated = topology.emulated
    real = [name for name in job.clusters if topology.cluster(name).is_real]
    if emulated is None or real:
        raise InvalidInput(
            f"Cluster {real[0]!r} is real: nothing is known of its links that SimGrid could be told (choose emulated "
            "ones with --on)."
        )
    return emulated


def commands(job: SkeletonJob) -> list[str]:
    """Return the two commands that compile and run the skeleton in the folder of its files."""
    settings = " ".join(f"--cfg={key}:{value}" for key, value in _SETTINGS.items())
    return [
        f"smpicc -O2 -o {_PROGRAM} {SKELETON_FILE}",
        f"smpirun -np {job.processes} -hostfile {HOSTS_FILE} -platform {PLATFORM_FILE} --log=root.thres:warning"
        f" {settings} ./{_PROGRAM} {PARAMETERS_FILE}",
    ]


def _json(parameters: Mapping[str, object]) -> str:
    """Return the parameters as JSON, one a line."""
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in parameters.items())
    return f"{{\n{lines}\n}}\n"
