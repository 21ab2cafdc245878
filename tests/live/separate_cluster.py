"""An ordinary Slurm cluster: its head and its nodes are separate machines, here one container each.

It is made from the node image without its entry point; only Slurm, munge and SSH are started. Nodes run no SSH. The
home folder is shared, as on clusters with a file server. The containers have no label of a testbed.
"""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from emulator.containers import engine
from tests.live.container_shell import output_in
from tests.live.node_container import IMAGE

NAME = "somebodys-cluster"
NODES = ("n1", "n2")
OUTSIDE = f"{NAME}-outside"
GATE = f"{NAME}-gate"
HOST_KEY = "cat /etc/ssh/ssh_host_ed25519_key.pub"
PROCESSORS_PER_NODE = 4
READY_WITHIN_HOST_S = 40.0

SLURM_CONF = f"""
ClusterName=somebodys
SlurmctldHost=head
SlurmUser=slurm
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmdParameters=config_overrides
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait=2
NodeName=n[1-2] CPUs={PROCESSORS_PER_NODE} RealMemory=1000 State=UNKNOWN
PartitionName=debug Nodes=n1 Default=YES MaxTime=10 State=UP
PartitionName=science Nodes=ALL MaxTime=60 State=UP
"""
CGROUP_CONF = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"

MACHINE = """
set -e
mkdir -p /etc/slurm /var/spool/slurmctld /var/spool/slurmd /run/munge /var/lib/munge /var/log/munge /run/sshd
cp /shared/slurm.conf /shared/cgroup.conf /etc/slurm
install -m 400 /shared/munge.key /etc/munge/munge.key
chown munge:munge /etc/munge /etc/munge/munge.key /run/munge /var/lib/munge /var/log/munge
chmod 755 /run/munge
chown slurm:slurm /var/spool/slurmctld
setpriv --reuid=munge --regid=munge --clear-groups munged
[ "$1" = head ] || exec slurmd -D
ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key
install -d -m 755 -o researcher -g researcher /home/researcher
install -d -m 700 -o researcher -g researcher /home/researcher/.ssh
install -m 600 -o researcher -g researcher /shared/authorized_keys /home/researcher/.ssh/authorized_keys
/usr/sbin/sshd -f /usr/local/lib/testbed/sshd_config
exec slurmctld -D
"""

JUMP_HOST = """
set -e
mkdir -p /run/sshd
[ -f /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key
install -d -m 700 -o researcher -g researcher ~researcher/.ssh
install -m 600 -o researcher -g researcher /shared/authorized_keys ~researcher/.ssh/authorized_keys
sed 's/^DisableForwarding yes/AllowTcpForwarding yes/' /usr/local/lib/testbed/sshd_config > /etc/ssh/gate
exec /usr/sbin/sshd -D -f /etc/ssh/gate
"""


@dataclass(frozen=True)
class SeparateCluster:
    """The cluster as its administrator and its user see it."""

    key: Path
    address: str
    network: str

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the head's host key, as its administrators publish it."""
        return self.at("head", "ssh-keygen -l -f /etc/ssh/ssh_host_ed25519_key.pub").split()[1]

    def at(self, machine: str, command: str) -> str:
        """Run a command in a root shell on a machine; return its output."""
        return output_in(engine.connect().containers.get(f"{NAME}-{machine}"), command)

    def authorized_keys(self) -> list[str]:
        """Return the lines by which the user's account lets keys in."""
        return self.at("head", "cat /home/researcher/.ssh/authorized_keys").splitlines()

    def join(self, container: str) -> None:
        """Connect a container to the cluster's network, as a site's administrators would."""
        _docker("network", "connect", NAME, container)

    def ranks(self) -> dict[str, int]:
        """Count the ranks of applications on each machine."""
        return {name: int(self.at(name, "pgrep -fc '^python3 -m apps' || true")) for name in ("head", *NODES)}


@dataclass(frozen=True)
class JumpHost:
    """A machine on the cluster's network and on one outside; `config` is the SSH configuration that leads through."""

    config: Path

    def join(self, container: str) -> None:
        """Connect a container to the network outside."""
        _docker("network", "connect", OUTSIDE, container)

    def restart(self) -> None:
        """Restart it, which ends every connection that goes through it."""
        _docker("restart", "--time", "0", GATE)

    def logins(self) -> int:
        """Count the processes of logins at it."""
        counted = output_in(engine.connect().containers.get(GATE), "pgrep -c '^sshd' || true")
        return max(0, int(counted) - 1)


@contextmanager
def jump_host(das: SeparateCluster, folder: Path) -> Iterator[JumpHost]:
    """Yield a jump host `gate` before the cluster `das`, whose head has a name that only the gate can resolve."""
    shared = das.key.parent / "shared"
    (shared / "gate.sh").write_text(JUMP_HOST)
    _remove_gate()
    _docker("network", "create", OUTSIDE)
    try:
        _docker(
            "run", "--detach", "--init", "--name", GATE, "--hostname", "gate", "--network", OUTSIDE,
            "--volume", f"{shared}:/shared:ro", "--entrypoint", "bash", IMAGE, "/shared/gate.sh",
        )  # fmt: skip
        _docker("network", "connect", NAME, GATE)
        yield JumpHost(_ssh_config(das, folder))
    finally:
        _remove_gate()


def _ssh_config(das: SeparateCluster, folder: Path) -> Path:
    """Write what a user has in ~/.ssh for the cluster behind its gate, once the gate accepts logins."""
    config, known_hosts = folder / "config", folder / "known_hosts"
    gate = engine.connect().containers.get(GATE)
    address = _address_in(OUTSIDE, GATE)
    host_deadline_s = time.monotonic() + READY_WITHIN_HOST_S
    while not (key_of_gate := output_in(gate, f"pgrep -x sshd >/dev/null && {HOST_KEY} || true")):
        assert time.monotonic() < host_deadline_s, _docker("logs", "--tail", "20", GATE)
        time.sleep(0.2)
    known_hosts.write_text(f"{address} {key_of_gate}\nhead {das.at('head', HOST_KEY)}\n")
    login = f"  User researcher\n  IdentityFile {das.key}\n  UserKnownHostsFile {known_hosts}\n"
    through = "  HostName head\n  ProxyJump gate\n"
    config.write_text(f"Host gate\n  HostName {address}\n{login}Host das\n{through}{login}")
    return config


@contextmanager
def separate_cluster(folder: Path) -> Iterator[SeparateCluster]:
    """Yield the cluster when its nodes are idle and its head accepts logins; remove all of it afterwards."""
    key = folder / "key"
    shared = folder / "shared"
    (folder / "home").mkdir(parents=True)
    shared.mkdir()
    private = Ed25519PrivateKey.generate()
    unencrypted, openssh = serialization.NoEncryption(), serialization.PrivateFormat.OpenSSH
    key.write_bytes(private.private_bytes(serialization.Encoding.PEM, openssh, unencrypted))
    key.chmod(0o600)
    public = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    (shared / "authorized_keys").write_bytes(public + b"\n")
    (shared / "munge.key").write_bytes(secrets.token_bytes(128))
    (shared / "slurm.conf").write_text(SLURM_CONF)
    (shared / "cgroup.conf").write_text(CGROUP_CONF)
    (shared / "machine.sh").write_text(MACHINE)
    _remove()
    _docker("network", "create", NAME)
    try:
        for machine in ("head", *NODES):
            _begin(machine, folder)
        yield _ready(key)
    finally:
        _remove()


def _begin(machine: str, folder: Path) -> None:
    _docker(
        "run", "--detach", "--init", "--name", f"{NAME}-{machine}", "--hostname", machine,
        "--network", NAME, "--network-alias", machine, "--shm-size", "256m",
        "--volume", f"{folder / 'shared'}:/shared:ro", "--volume", f"{folder / 'home'}:/home/researcher",
        "--entrypoint", "bash", IMAGE, "/shared/machine.sh", "head" if machine == "head" else "node",
    )  # fmt: skip


def _ready(key: Path) -> SeparateCluster:
    address = _address_in(NAME, f"{NAME}-head")
    network = _docker("network", "inspect", "--format", "{{(index .IPAM.Config 0).Subnet}}", NAME)
    cluster = SeparateCluster(key, address, network)
    host_deadline_s = time.monotonic() + READY_WITHIN_HOST_S
    while cluster.at("head", "sinfo -h -p science -o '%t %D'") != f"idle {len(NODES)}":
        assert time.monotonic() < host_deadline_s, _docker("logs", "--tail", "20", f"{NAME}-head")
        time.sleep(0.3)
    return cluster


def _address_in(network: str, container: str) -> str:
    return _docker("inspect", "--format", f'{{{{(index .NetworkSettings.Networks "{network}").IPAddress}}}}', container)


def _remove_gate() -> None:
    subprocess.run(["docker", "rm", "--force", "--volumes", GATE], capture_output=True, check=False)
    subprocess.run(["docker", "network", "rm", OUTSIDE], capture_output=True, check=False)


def _remove() -> None:
    _remove_gate()
    for machine in ("head", *NODES):
        subprocess.run(["docker", "rm", "--force", "--volumes", f"{NAME}-{machine}"], capture_output=True, check=False)
    subprocess.run(["docker", "network", "rm", NAME], capture_output=True, check=False)


def _docker(*words: str) -> str:
    ended = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()
