"""The script that starts a job's MPI ranks across clusters, inside the allocations of its components.

`mpirun` itself runs as a step of the first cluster's allocation. For every other cluster it calls a remote-launch
agent, which logs in at that cluster's head and starts Open MPI's daemon as a step of that cluster's allocation: so
limits, accounting and `scancel` reach all ranks.

What is started for each rank is `start-rank` (apps/start/rank.c), which has the ranks of one node forked from a Python
process that is prepared once.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from emulator.clusters.protocol import Part
from emulator.model.settings import BrokerSettings

MPI_SETTINGS = {
    "pml": "ob1",
    "btl_vader_single_copy_mechanism": "none",
    "mpi_yield_when_idle": "1",
    "plm": "rsh",
    "plm_rsh_no_tree_spawn": "1",
}
"""Open MPI's settings; waiting ranks yield, since there are more of them than cores."""
RANK = "start-rank"
"""What the nodes call the program that starts a rank of an application."""
DISCOVERY = "HWLOC_COMPONENTS=-linux:pci,-linux:io HWLOC_PLUGINS_PATH="
"""Open MPI's daemons count processors, and do not look for graphics processors and what is on the PCI bus, which costs
them more than all else that they do."""
SHARED_MEMORY = "self,vader"
SHARED_MEMORY_AND_TCP = "self,vader,tcp"
"""Ways for messages: shared memory inside a cluster, TCP between them, which costs CPU to poll even if unused."""

AGENT = """#!/bin/bash
host=$1; shift
case $host in
{cases}
*) echo "no allocation at $host" >&2; exit 1 ;;
esac
exec ssh -x -o BatchMode=yes "$host" "{discovery} srun --jobid=$allocation --overlap --nodes=1 --ntasks=1 --mpi=none \
--kill-on-bad-exit=1 bash -c $(printf %q "$*")"
"""

# The agent is named to bash, not to the kernel: Open MPI's daemons look for it, too, at heads where only bash is.
SCRIPT = """#!/bin/bash
cat > agent <<'END_OF_AGENT'
{agent}END_OF_AGENT
for name in ${{!SLURM_*}}; do unset "$name"; done
export {discovery}
exec mpirun --mca plm_rsh_agent "bash $PWD/agent" {arguments}
"""


def start_script(label: str, parts: Sequence[Part], program: Sequence[str], settings: BrokerSettings) -> str:
    """The bash script that runs `program` on the processors of `parts`, ranks in the order of the parts.

    The session directory is the job's own, named by `label`: jobs that share one make and remove it under each other.
    """
    cases = "\n".join(f"{part.head_address}) allocation={shlex.quote(part.allocation)} ;;" for part in parts)
    mpi_settings = {
        **MPI_SETTINGS,
        "btl": SHARED_MEMORY if len(parts) == 1 else SHARED_MEMORY_AND_TCP,
        "orte_tmpdir_base": f"/tmp/{settings.testbed}-{label}",
    }
    if settings.message_range:
        mpi_settings["btl_tcp_if_include"] = settings.message_range
    if settings.control_range:
        mpi_settings["oob_tcp_if_include"] = settings.control_range
    options = [word for name, value in mpi_settings.items() for word in ("--mca", name, value)]
    hosts = ",".join(f"{part.head_address}:{part.processors}" for part in parts)
    processors = str(sum(part.processors for part in parts))
    arguments = ["--leave-session-attached", "--bind-to", "none", *options, "-H", hosts, "-n", processors]
    return SCRIPT.format(
        agent=AGENT.format(cases=cases, discovery=DISCOVERY),
        discovery=DISCOVERY,
        arguments=shlex.join([*arguments, *program]),
    )
