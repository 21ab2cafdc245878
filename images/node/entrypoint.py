"""Entry point of a cluster's container: configures, starts and watches munge, Slurm and SSH.

The environment states TESTBED_CLUSTER (the name), TESTBED_NODES, TESTBED_PROCESSORS_PER_NODE, and the route to the
other sites: TESTBED_ALL_SITES is their address range, TESTBED_ROUTER the gateway. /etc/testbed/keys holds the host key,
the users' public keys, the key with which clusters log in to one another, and known_hosts. The program prints a line
``ready`` when all virtual nodes are idle and SSH answers. It exits with an error if munged, slurmctld or sshd ends.
"""

from __future__ import annotations

import os
import pwd
import resource
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

KEYS = Path("/etc/testbed/keys")
SSHD_CONFIGURATION = Path(__file__).with_name("sshd_config")
READY = Path("/run/testbed/ready")
USER = "researcher"
FIRST_SLURMD_PORT = 17001
READY_WITHIN_HOST_S = 120.0

SLURM_CONF = """\
ClusterName={cluster}
SlurmctldHost={cluster}(127.0.0.1)
SlurmUser=slurm
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/var/spool/slurmctld
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.%n.pid
SlurmdSpoolDir=/var/spool/slurmd.%n
SlurmdLogFile=/var/log/slurm/slurmd.%n.log
SlurmctldDebug=info
SlurmdDebug=info
MailProg=/bin/true
# The virtual nodes claim more processors and memory than the host has: take what stands here.
SlurmdParameters=config_overrides
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
PriorityType=priority/basic
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
JobRequeue=0
EnforcePartLimits=ALL
MaxJobCount=20000
MinJobAge=300
KillWait=2
UnkillableStepTimeout=30
CompleteWait=0
Waittime=0
# A host that carries hundreds of ranks answers late without being dead.
MessageTimeout=60
TCPTimeout=20
SlurmctldTimeout=300
SlurmdTimeout=300
NodeName=n[1-{nodes}] NodeHostname={cluster} NodeAddr=127.0.0.1 Port=[{first_port}-{last_port}] \
CPUs={processors} RealMemory=4096 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=INFINITE State=UP OverSubscribe=NO
"""

# Slurm reads this file even if no plugin uses cgroups; the v1 plugin changes nothing by default.
CGROUP_CONF = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"


def write_slurm_configuration(cluster: str, nodes: int, processors_per_node: int) -> None:
    """Write slurm.conf and cgroup.conf, and make the folders that they need."""
    ports = {"first_port": FIRST_SLURMD_PORT, "last_port": FIRST_SLURMD_PORT + nodes - 1}
    text = SLURM_CONF.format(cluster=cluster, nodes=nodes, processors=processors_per_node, **ports)
    Path("/etc/slurm").mkdir(exist_ok=True)
    Path("/etc/slurm/slurm.conf").write_text(text)
    Path("/etc/slurm/cgroup.conf").write_text(CGROUP_CONF)
    for folder in ("/var/spool/slurmctld", "/var/log/slurm"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        shutil.chown(folder, "slurm", "slurm")


def prepare_munge() -> None:
    """Write a new munge key and make munge's folders."""
    key = Path("/etc/munge/munge.key")
    key.parent.mkdir(exist_ok=True)
    key.unlink(missing_ok=True)
    key.touch(mode=0o400)
    key.write_bytes(secrets.token_bytes(128))
    for path in (key.parent, key, Path("/run/munge"), Path("/var/lib/munge"), Path("/var/log/munge")):
        if path != key:
            path.mkdir(parents=True, exist_ok=True)
        shutil.chown(path, "munge", "munge")
    Path("/run/munge").chmod(0o755)


def prepare_ssh() -> None:
    """Install the host key, the authorized keys, and the key and known hosts for logins between clusters."""
    Path("/run/sshd").mkdir(exist_ok=True)
    install(KEYS / "host", Path("/etc/ssh/ssh_host_ed25519_key"), 0o600)
    install(KEYS / "known_hosts", Path("/etc/ssh/ssh_known_hosts"), 0o644)
    folder = Path(f"/home/{USER}/.ssh")
    folder.mkdir(mode=0o700, exist_ok=True)
    install(KEYS / "authorized_keys", folder / "authorized_keys", 0o600)
    install(KEYS / "grid", folder / "id_ed25519", 0o600)
    for path in (folder, *folder.iterdir()):
        shutil.chown(path, USER, USER)


def install(source: Path, target: Path, mode: int) -> None:
    """Copy a mounted file to the place where a daemon expects it, with the mode that the daemon requires."""
    target.unlink(missing_ok=True)
    target.touch(mode=mode)
    target.write_bytes(source.read_bytes())


def start_daemons(nodes: int) -> tuple[dict[int, str], dict[int, str]]:
    """Start all daemons; return the names, by process id, of the vital daemons and of the virtual nodes."""
    munge = pwd.getpwnam("munge")
    vital = {}
    with Path("/var/log/munge/munged.log").open("w") as log:
        account = {"user": munge.pw_uid, "group": munge.pw_gid, "extra_groups": []}
        munged = subprocess.Popen(["munged", "--foreground"], stderr=log, **account)
    vital[munged.pid] = "munged"
    wait_until(lambda: Path("/run/munge/munge.socket.2").exists(), "munged")
    vital[subprocess.Popen(["slurmctld", "-D"]).pid] = "slurmctld"
    vital[subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", str(SSHD_CONFIGURATION)]).pid] = "sshd"
    wait_until(lambda: answers(6817), "slurmctld")
    virtual = {}
    for index in range(1, nodes + 1):
        started = subprocess.Popen(["slurmd", "-D", "-N", f"n{index}"], stderr=subprocess.DEVNULL)
        virtual[started.pid] = f"n{index}"
    return vital, virtual


def answers(port: int) -> bool:
    """Return whether a process listens on a local port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def all_idle(nodes: int) -> bool:
    """Return whether all virtual nodes are registered and idle."""
    listed = subprocess.run(["sinfo", "-h", "-N", "-o", "%t"], capture_output=True, text=True, check=False)
    return listed.stdout.split() == ["idle"] * nodes


def wait_until(condition: Callable[[], bool], what: str, pause_host_s: float = 0.05) -> None:
    """Wait until a condition holds; end the container if it does not hold in time."""
    deadline = time.monotonic() + READY_WITHIN_HOST_S
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what} is not ready after {READY_WITHIN_HOST_S:.0f} s")
        time.sleep(pause_host_s)


def watch(vital: dict[int, str], virtual: dict[int, str]) -> None:
    """Wait for child processes; report a virtual node that ends, and end the container if a vital daemon ends."""
    while True:
        pid, status = os.wait()
        if pid in virtual:
            print(f"slurmd of {virtual[pid]} ended ({status})")
        if pid in vital:
            sys.exit(f"{vital[pid]} ended ({status})")


def route_sites() -> None:
    """Route traffic to other sites through the router of the wide area."""
    command = ["ip", "route", "replace", os.environ["TESTBED_ALL_SITES"], "via", os.environ["TESTBED_ROUTER"]]
    subprocess.run(command, check=True)


def continue_without_network_rights() -> None:
    """Run this program again without NET_ADMIN, which its child processes cannot regain."""
    dropped = ["--bounding-set=-net_admin", "--inh-caps=-net_admin"]
    os.execvp("setpriv", ["setpriv", *dropped, sys.executable, "-u", __file__, "without-network-rights"])


def raise_limits() -> None:
    """Raise the limit of open files to the engine's hard limit; not every host permits raising the hard limit."""
    _, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (ceiling, ceiling))


def main() -> None:
    """Start the cluster and watch its daemons."""
    if len(sys.argv) == 1:
        route_sites()
        continue_without_network_rights()
    raise_limits()
    cluster = os.environ["TESTBED_CLUSTER"]
    nodes = int(os.environ["TESTBED_NODES"])
    READY.unlink(missing_ok=True)
    write_slurm_configuration(cluster, nodes, int(os.environ["TESTBED_PROCESSORS_PER_NODE"]))
    prepare_munge()
    prepare_ssh()
    vital, virtual = start_daemons(nodes)
    # The pause is long because each check starts a program while all other clusters start too.
    wait_until(lambda: all_idle(nodes), "Slurm", pause_host_s=0.3)
    wait_until(lambda: answers(22), "sshd")
    READY.parent.mkdir(exist_ok=True)
    READY.touch()
    print("ready")
    watch(vital, virtual)


if __name__ == "__main__":
    main()
