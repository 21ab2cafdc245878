"""The script that starts a job's MPI ranks across clusters, inside the allocations of its components.

`mpirun` itself runs as a step of the first cluster's allocation. For every other cluster it calls a remote-launch
agent, which logs in at that cluster's head and starts Open MPI's daemon as a step of that cluster's allocation: so
limits, accounting and `scancel` reach all ranks. The nodes of a real cluster are machines of their own, so each of them
gets a daemon under an alias, which only the agent understands. From a container, the agent logs in at real heads by a
key that is the job's own.

What is started for each rank is `start-rank` (apps/start/rank.c), which has the ranks of one node forked from a Python
process that is prepared once.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

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
SHARED_NODES = {"btl_vader_eager_limit": "1048576", "btl_vader_segment_size": "134217728"}
"""Open MPI's settings where tasks share nodes in time: a message of up to 1 MiB leaves while its receiver computes."""
RANK = "start-rank"
"""The name on the nodes of the program that starts a rank of an application."""
DISCOVERY = "HWLOC_COMPONENTS=-linux:pci,-linux:io HWLOC_PLUGINS_PATH="
"""Open MPI's daemons count processors, and do not look for graphics processors and what is on the PCI bus, which costs
them more than all else that they do."""
SHARED_MEMORY = "self,vader"
SHARED_MEMORY_AND_TCP = "self,vader,tcp"
"""Ways for messages: shared memory inside a cluster, TCP between them, which costs CPU to poll even if unused."""

AGENT = """#!/bin/bash
host=$1; shift
login=("$host") place= setup=
case $host in
{cases}
*) echo "no allocation at $host" >&2; exit 1 ;;
esac
session={session}
launch="{discovery} srun --jobid=$allocation --overlap --nodes=1 --ntasks=1 $place--mpi=none \
--kill-on-bad-exit=1 bash -c $(printf %q "$session$setup$*")"
[ ${{#login[@]}} -gt 0 ] || exec bash -c "$launch"
exec ssh -x -o BatchMode=yes "${{login[@]}}" "$launch"
"""

SESSION = """mkdir -m 700 -- {folder} 2> /dev/null || {{ [ -O {folder} ] && [ ! -L {folder} ]; }} || {{
    echo "The session folder {folder} cannot be made, or is another user's." >&2; exit 1; }}
"""
"""Makes Open MPI's session folder for its owner alone, before Open MPI does, which would take one that another made."""

# The agent is named to bash, not to the kernel: Open MPI's daemons look for it, too, at heads where only bash is.
SCRIPT = """#!/bin/bash
cat > agent <<'END_OF_AGENT'
{agent}END_OF_AGENT
{key}{session}for name in ${{!SLURM_*}}; do unset "$name"; done
export {discovery}
exec mpirun --mca plm_rsh_agent "bash $PWD/agent" {arguments}
"""

KEY = """(umask 077 && cat > pass) <<'END_OF_KEY' || exit
{key}END_OF_KEY
"""
KEYED = '-i "${0%/*}/pass" -o IdentitiesOnly=yes '


def leading_part(parts: Sequence[Part]) -> int:
    """Return the index of the part that `mpirun` starts in: the first in a container, which reaches all heads, or 0."""
    return next((index for index, part in enumerate(parts) if not part.is_real), 0)


def real_parts_of(parts: Sequence[Part]) -> list[int]:
    """Return the indices of the parts at whose heads `mpirun` logs in from a container, and needs a key."""
    if parts[leading_part(parts)].is_real:
        return []
    return [index for index, part in enumerate(parts) if part.is_real]


def start_script(
    label: str, parts: Sequence[Part], program: Sequence[str], settings: BrokerSettings, key: str = ""
) -> str:
    """Return the bash script that runs `program` on the processors of `parts`, ranks in the order of the parts.

    Each job has its own session folder, named by `label`, since jobs that share one remove it while others use it. No
    other user of a node can foresee its name. A private `key` opens the real heads to the job in a container.
    """
    folder = f"/tmp/{settings.testbed}-{label}-{secrets.token_hex(8)}"
    session = SESSION.format(folder=folder)
    first = leading_part(parts)
    hosts = [
        host
        for index, part in enumerate(parts)
        for host in _hosts(index, part, starts_here=index == first, keyed=bool(key))
    ]
    mpi_settings = {
        **MPI_SETTINGS,
        "btl": SHARED_MEMORY if len(hosts) == 1 else SHARED_MEMORY_AND_TCP,
        "orte_tmpdir_base": folder,
        **_networks(parts, settings),
        **(SHARED_NODES if any(part.nodes and not part.is_real for part in parts) else {}),
    }
    options = [word for name, value in mpi_settings.items() for word in ("--mca", name, value)]
    listed = ",".join(f"{host.alias}:{host.processors}" for host in hosts)
    processors = str(sum(part.processors for part in parts))
    arguments = ["--leave-session-attached", "--bind-to", "none", *options, "-H", listed, "-n", processors]
    return SCRIPT.format(
        agent=AGENT.format(
            cases="\n".join(host.case for host in hosts), discovery=DISCOVERY, session=shlex.quote(session)
        ),
        key=KEY.format(key=key) if key else "",
        session=session,
        discovery=DISCOVERY,
        arguments=shlex.join([*arguments, *program]),
    )


@dataclass(frozen=True, slots=True)
class _Host:
    """A host of mpirun: its alias, its ranks, and the agent's case that starts its daemon."""

    alias: str
    processors: int
    case: str


def _hosts(index: int, part: Part, *, starts_here: bool, keyed: bool) -> list[_Host]:
    allocation = shlex.quote(part.allocation)
    if not part.is_real:
        return [_Host(part.head_address, part.processors, f"{part.head_address}) allocation={allocation} ;;")]
    # If mpirun is a step of this allocation, its own srun reaches the nodes without a login.
    login = "" if starts_here else (KEYED if keyed else "") + shlex.join(part.login)
    setup = shlex.quote(f"{part.setup}\n" if part.setup else "")
    hosts = []
    for number, share in enumerate(part.nodes):
        alias = f"part{index}-{number}"
        # Slurm binds a step of one task to one processor, and with it all ranks that the task starts.
        place = shlex.quote(f"--nodelist={share.node} --cpus-per-task={share.processors} --cpu-bind=none ")
        case = f"{alias}) allocation={allocation} login=({login}) place={place} setup={setup} ;;"
        hosts.append(_Host(alias, share.processors, case))
    return hosts


def _networks(parts: Sequence[Part], settings: BrokerSettings) -> dict[str, str]:
    """Return MPI's network settings: the emulated wide area and control network, or the networks of the real clusters.

    Never both, since Open MPI takes any network of a host as a route to any other host. Empty if a real cluster states
    no network: MPI then chooses itself.
    """
    real = [part.message_range for part in parts if part.is_real]
    if not all(real):
        return {}
    joined = ",".join(dict.fromkeys(real))
    ranges = {
        "btl_tcp_if_include": joined or settings.message_range,
        "oob_tcp_if_include": joined or settings.control_range,
    }
    return {name: given for name, given in ranges.items() if given}
