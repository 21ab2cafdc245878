"""Slurm in one container: its configuration, its controller's folders, and whether its nodes are there."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

from cluster_start.waiting import listening_ports

FIRST_SLURMD_PORT = 17001
SLURMCTLD_STATE = Path("/var/spool/slurmctld")
JOBS_OF_A_START = 100_000
MOST_STARTS = 600
"""Slurm's job numbers go up to 67 million."""

SLURM_CONF = """\
ClusterName={cluster}
SlurmctldHost={cluster}(127.0.0.1)
SlurmUser=slurm
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/var/spool/slurmctld
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.%n.pid
SlurmdSpoolDir=/run/slurmd.%n
SlurmdLogFile=/var/log/slurm/slurmd.%n.log
SlurmctldDebug=info
SlurmdDebug=info
MailProg=/bin/true
# A job's number is never used again, not even if slurmctld was killed before it had saved the job.
FirstJobId={first_job}
# FirstJobId changes with each start of slurmctld; slurmd has no use for it.
DebugFlags=NO_CONF_HASH
# The virtual nodes claim more processors and memory than the host has: take what stands here.
SlurmdParameters=config_overrides
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters={selection}
SchedulerType=sched/builtin
# Batch jobs start within a second, when slurmctld next looks, and not up to three seconds later.
SchedulerParameters=batch_sched_delay=0
PriorityType=priority/basic
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
JobRequeue=0
EnforcePartLimits=ALL
MaxJobCount=20000
MinJobAge=300
KillWait=2
# A head that stood still or whose clock was set would else find ending steps unkillable, and drain nodes for ever.
UnkillableStepTimeout=60000
CompleteWait=0
Waittime=0
# A host that carries hundreds of ranks answers late without being dead.
MessageTimeout=60
TCPTimeout=20
SlurmctldTimeout=300
SlurmdTimeout=300
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=INFINITE State=UP OverSubscribe={sharing}
"""

NODES = (
    "NodeName=n{numbers} NodeHostname={cluster} NodeAddr=127.0.0.1 Port={ports} CPUs={processors} "
    "RealMemory={memory_mb} State=UNKNOWN"
)

# Jobs that state no memory would else get all of a node's.
COUNTED_MEMORY = "DefMemPerCPU=1\n"
UNCOUNTED_MB = 4096

# Slurm reads this file even if no plugin uses cgroups; the v1 plugin changes nothing by default.
CGROUP_CONF = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"


def make_slurm_folders() -> None:
    """Make the folders that Slurm needs."""
    Path("/etc/slurm").mkdir(exist_ok=True)
    for folder in (SLURMCTLD_STATE, Path("/var/log/slurm")):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.chown(folder, "slurm", "slurm")


def write_slurm_configuration(
    cluster: str,
    nodes: int,
    processors_per_node: int,
    *,
    exclusive: bool,
    time_sharing: bool,
    memory_mb: float,
    beside_users_mb: Mapping[str, float],
) -> None:
    """Write slurm.conf and cgroup.conf for another start of slurmctld."""
    first_job = next_first_job(SLURMCTLD_STATE / "starts")
    text = slurm_configuration(
        cluster,
        nodes,
        processors_per_node,
        first_job,
        exclusive=exclusive,
        time_sharing=time_sharing,
        memory_mb=memory_mb,
        beside_users_mb=beside_users_mb,
    )
    replace(Path("/etc/slurm/slurm.conf"), text)
    replace(Path("/etc/slurm/cgroup.conf"), CGROUP_CONF)


def slurm_configuration(
    cluster: str,
    nodes: int,
    processors_per_node: int,
    first_job: int,
    *,
    exclusive: bool,
    time_sharing: bool,
    memory_mb: float = 0.0,
    beside_users_mb: Mapping[str, float] = MappingProxyType({}),
) -> str:
    """Return slurm.conf.

    If nodes are `exclusive`, each job gets all processors of its nodes. With `time_sharing` the processors that Slurm
    counts are tasks which share one, and a job gets the nodes that have fewest. The memory of a node counts if it is
    stated. Where people work, jobs get no more of it than `beside_users_mb` says, by the name of the node.
    """
    text = SLURM_CONF if memory_mb == 0 else SLURM_CONF + COUNTED_MEMORY
    for_jobs_mb = [beside_users_mb.get(f"n{number}", memory_mb) for number in range(1, nodes + 1)]
    sizes_mb = [counted_mb(each_mb, processors_per_node) if memory_mb else UNCOUNTED_MB for each_mb in for_jobs_mb]
    return text.format(
        cluster=cluster,
        nodes=node_lines(cluster, processors_per_node, sizes_mb),
        first_job=first_job,
        sharing="EXCLUSIVE" if exclusive else "NO",
        selection=("CR_CPU_Memory" if memory_mb else "CR_CPU") + (",CR_LLN" if time_sharing else ""),
    )


def counted_mb(memory_mb: float, processors: int) -> int:
    """Return the memory of a node with room for the whole megabytes to which Slurm rounds that of each task."""
    return math.ceil(memory_mb) + processors


def node_lines(cluster: str, processors: int, sizes_mb: Sequence[int]) -> str:
    """Return the lines of slurm.conf that define nodes of these sizes of memory, one for each row of equal ones."""
    lines: list[str] = []
    for size_mb, row in groupby(range(len(sizes_mb)), key=lambda index: sizes_mb[index]):
        indices = list(row)
        first, last = indices[0], indices[-1]
        lines.append(
            NODES.format(
                cluster=cluster,
                numbers=numbers(first + 1, last + 1),
                ports=numbers(FIRST_SLURMD_PORT + first, FIRST_SLURMD_PORT + last),
                processors=processors,
                memory_mb=size_mb,
            )
        )
    return "\n".join(lines)


def numbers(first: int, last: int) -> str:
    """Return the numbers from `first` to `last` as Slurm reads them."""
    return str(first) if first == last else f"[{first}-{last}]"


def replace(file: Path, text: str) -> None:
    """Write a file at once: who reads it meanwhile finds the old text or the new one."""
    made = file.with_name(f"{file.name}.new")
    made.write_text(text)
    made.replace(file)


def next_first_job(counted: Path) -> int:
    """Return the number of the first job after another start of slurmctld, which the file `counted` counts.

    slurmctld saves its state every few seconds. If it was killed, jobs that it started since then are unknown to it,
    while their processes go on for a moment; it then gave their numbers to new jobs, and drained the nodes of both.
    """
    starts = int(counted.read_text()) if counted.exists() else 0
    replace(counted, f"{starts + 1}")
    return starts % MOST_STARTS * JOBS_OF_A_START + 1


def all_listen(nodes: int) -> bool:
    """Return whether the slurmd of every virtual node listens; found without starting a program."""
    ports = range(FIRST_SLURMD_PORT, FIRST_SLURMD_PORT + nodes)
    return listening_ports(Path("/proc/net/tcp").read_text()).issuperset(ports)


def all_idle(nodes: int) -> bool:
    """Return whether all virtual nodes are registered and idle."""
    listed = subprocess.run(["sinfo", "-h", "-N", "-o", "%t"], capture_output=True, text=True, check=False)
    return listed.stdout.split() == ["idle"] * nodes
