"""Several hosts on one machine: a Docker daemon in each of some network namespaces, joined by a switch.

Needs root, iproute2, nsenter and dockerd. All that it makes is named after the lab and removed at its end. Each host
but the first has a disk of its own, in memory. Clocks, kernels and /proc are not separate, as those of machines are.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import docker
import pytest
import yaml

from emulator.containers import engine
from emulator.containers.image_names import base_reference
from emulator.containers.images import ensure_images
from emulator.containers.progress import ignore
from tests.live.command_line import TESTBED, Outcome
from tests.live.grid import until

can_make_hosts = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("ip", "nsenter", "dockerd", "docker"))),
    reason="network namespaces need root, iproute2, nsenter and dockerd",
)
UNDERLAY_MTU = 1600
DISK_MBYTES = 1600
DAEMON_WITHIN_HOST_S = 60.0
LONGEST_HOST_S = 600.0
SSH_PORT = 2222
PID_FILE = "dockerd.pid"
CLONE_NEWNET = 0x40000000

_SSH_SERVER = f"""
mkdir -p /run/sshd /root/.ssh && chmod 700 /root/.ssh && echo "$KEY" >/root/.ssh/authorized_keys
[ -e /tmp/host_key ] || ssh-keygen -q -t ed25519 -N "" -f /tmp/host_key
exec /usr/sbin/sshd -D -e -f /dev/null -p {SSH_PORT} -h /tmp/host_key -o PermitRootLogin=prohibit-password
"""


@dataclass
class LabHost:
    """A host of the lab: its namespace, folder and daemon."""

    name: str
    namespace: str
    address: str
    folder: Path
    daemon: subprocess.Popen[bytes] | None = None

    @property
    def cable(self) -> str:
        """The switch's end of its link to the underlay."""
        return f"v{self.name}"

    @property
    def engine(self) -> str:
        """The address of its engine."""
        return f"unix://{self.folder}/engine.sock"

    @property
    def client(self) -> docker.DockerClient:
        """A client of its engine."""
        return docker.DockerClient(base_url=self.engine, timeout=120)

    def start(self) -> None:
        """Start its daemon, and wait until it answers."""
        configuration = self.folder / "daemon.json"
        if not configuration.exists():
            configuration.write_text(json.dumps({"storage-driver": storage_driver()}))
        command = [
            "nsenter", f"--net=/run/netns/{self.namespace}", "dockerd", "--config-file", configuration,
            "--data-root", self.folder / "data", "--exec-root", self.folder / "run",
            "--pidfile", self.folder / PID_FILE, "-H", self.engine,
        ]  # fmt: skip
        log = (self.folder / "log").open("ab")
        self.daemon = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

        def answers() -> bool:
            assert self.daemon is not None
            assert self.daemon.poll() is None, (self.folder / "log").read_text()[-2000:]
            with contextlib.suppress(docker.errors.DockerException):
                return bool(self.client.ping())
            return False

        until(answers, DAEMON_WITHIN_HOST_S)

    def stop(self) -> None:
        """End its daemon, and the containers with it."""
        if self.daemon is not None and self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait(timeout=DAEMON_WITHIN_HOST_S)

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """Fill its disk to the last byte, inside the context."""
        filler = self.folder / "filler"
        filled = subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=1M"], capture_output=True, check=False)
        assert b"No space left" in filled.stderr, filled.stderr
        try:
            yield
        finally:
            filler.unlink()

    def restart(self) -> None:
        """End its daemon, and the containers with it, and start it again, as a reboot does."""
        self.stop()
        self.start()

    def parts(self, testbed: str) -> list[str]:
        """List what it holds of a testbed."""
        listings = (engine.containers_of, engine.networks_of, engine.volumes_of)
        return [str(part.name) for listed in listings for part in listed(self.client, testbed)]


@dataclass
class Lab:
    """Hosts, the first of which manages the Swarm and runs the `testbed` command; `folder` holds its state."""

    testbed: str
    folder: Path
    hosts: list[LabHost] = field(default_factory=list)
    underlay_mtu: str = str(UNDERLAY_MTU)

    @property
    def central(self) -> LabHost:
        """The manager of the Swarm, where the `testbed` command runs."""
        return self.hosts[0]

    def host(self, name: str) -> LabHost:
        """Return the host of that name."""
        return next(host for host in self.hosts if host.name == name)

    def await_ready(self) -> None:
        """Wait until all hosts are ready in the Swarm, as its manager sees them."""
        until(lambda: self._ready() >= len(self.hosts), LONGEST_HOST_S)

    def _ready(self) -> int:
        with contextlib.suppress(docker.errors.APIError):  # a manager that begins does not know its Swarm yet
            return sum(node.attrs["Status"]["State"] == "ready" for node in self.central.client.nodes.list())
        return 0

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Be at the first host with this thread, those that it starts and its commands, inside the context."""
        there = {"XDG_STATE_HOME": str(self.folder / "state"), "DOCKER_HOST": self.central.engine}
        before = {name: os.environ.get(name) for name in there}
        with Path("/proc/thread-self/ns/net").open() as here:
            with Path(f"/run/netns/{self.central.namespace}").open() as first:
                _enter(first.fileno())
            os.environ |= there
            try:
                yield
            finally:
                _enter(here.fileno())
                for name, value in before.items():
                    if value is None:
                        del os.environ[name]
                    else:
                        os.environ[name] = value

    @contextmanager
    def cut_off(self, host: LabHost) -> Iterator[None]:
        """Cut the link between a host and the underlay, inside the context."""
        run("ip", "-n", f"{self.testbed}-sw", "link", "set", host.cable, "down")
        try:
            yield
        finally:
            run("ip", "-n", f"{self.testbed}-sw", "link", "set", host.cable, "up")

    def inventory(self, hosts: Sequence[LabHost] = (), over_ssh: Sequence[LabHost] = ()) -> str:
        """Write the inventory of the hosts, by default of all, and return its file."""
        engines = {host.name: host.engine for host in hosts or self.hosts}
        engines |= {host.name: f"ssh://root@{host.address}:{SSH_PORT}" for host in over_ssh}
        stated = [
            {"name": host.name, "engine": engines[host.name], "address": host.address} for host in hosts or self.hosts
        ]
        file = self.folder / "hosts.yaml"
        file.write_text(yaml.safe_dump({"hosts": stated}))
        return str(file)

    def __call__(self, *arguments: str) -> Outcome:
        """Run `testbed` at the first host, whose loopback has the API."""
        command = ["nsenter", f"--net=/run/netns/{self.hosts[0].namespace}", str(TESTBED), *arguments]
        environment = {
            **os.environ,
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "TESTBED_NAME": self.testbed,
            "COLUMNS": "200",
            "XDG_STATE_HOME": str(self.folder / "state"),
            "DOCKER_HOST": self.hosts[0].engine,
        }
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=LONGEST_HOST_S, env=environment, check=False
        )
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    def succeed(self, *arguments: str) -> Outcome:
        """Run a command that must succeed."""
        outcome = self(*arguments)
        assert outcome.exit_code == 0, outcome.errors
        return outcome

    def let_in_by_ssh(self, host: LabHost) -> None:
        """Give a host the node image, whose SSH server then lets `testbed` log in there and find the host's engine.

        The server is started again whenever the host's daemon is.
        """
        key, ssh = self.folder / "key", self.folder / "bin" / "ssh"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
        ssh.parent.mkdir()
        options = f"-i {key} -o StrictHostKeyChecking=no -o UserKnownHostsFile={self.folder}/known_hosts"
        ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} {options} "$@"\n')
        ssh.chmod(0o755)
        image = ensure_images(engine.connect(), ignore).node
        _copy_images(host, [image])
        host.client.containers.run(
            image,
            [_SSH_SERVER],
            entrypoint=["sh", "-c"],
            environment={"KEY": key.with_suffix(".pub").read_text().strip()},
            network_mode="host",
            volumes={host.engine.removeprefix("unix://"): {"bind": "/var/run/docker.sock", "mode": "rw"}},
            restart_policy={"Name": "always"},
            detach=True,
        )
        until(lambda: self._answers_ssh(host))

    def _answers_ssh(self, host: LabHost) -> bool:
        inside = ["nsenter", f"--net=/run/netns/{self.hosts[0].namespace}", str(self.folder / "bin" / "ssh")]
        asked = [*inside, "-o", "BatchMode=yes", "-p", str(SSH_PORT), f"root@{host.address}", "true"]
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0

    def left_over(self) -> list[str]:
        """List what any host holds of the testbed."""
        return [f"{host.name}: {part}" for host in self.hosts for part in host.parts(self.testbed)]

    def join(self, *hosts: LabHost) -> None:
        """Let hosts join the Swarm of the first, which makes one if it has none."""
        manager = self.hosts[0]
        if manager.client.info()["Swarm"]["LocalNodeState"] != "active":
            manager.client.swarm.init(advertise_addr=manager.address, listen_addr=f"{manager.address}:2377")
        token = manager.client.swarm.attrs["JoinTokens"]["Worker"]
        for host in hosts:
            host.client.swarm.join([f"{manager.address}:2377"], token, advertise_addr=host.address)


@contextmanager
def lab(testbed: str, count: int) -> Iterator[Lab]:
    """Yield a lab of `count` hosts, not in a Swarm yet, whose first has the images; remove all of it afterwards."""
    remove_left(testbed)
    folder = Path(tempfile.mkdtemp(prefix=f"{testbed}-", dir="/var/tmp"))
    made = Lab(testbed, folder)
    try:
        run("ip", "netns", "add", f"{testbed}-sw")
        run("ip", "-n", f"{testbed}-sw", "link", "add", "sw0", "type", "bridge")
        run("ip", "-n", f"{testbed}-sw", "link", "set", "sw0", "up", "mtu", str(UNDERLAY_MTU))
        for index in range(1, count + 1):
            host = LabHost(f"host{index}", f"{testbed}-{index}", f"10.77.0.{index}", folder / f"host{index}")
            made.hosts.append(host)
            _connect(testbed, host)
            if index > 1:
                run("mount", "-t", "tmpfs", "-o", f"size={DISK_MBYTES}m,mode=755", "tmpfs", str(host.folder))
            host.start()
        images = ensure_images(engine.connect(), ignore)
        _copy_images(made.hosts[0], [base_reference(), images.node, images.wan, images.broker])
        yield made
    finally:
        for host in made.hosts:
            with contextlib.suppress(subprocess.TimeoutExpired):  # such a daemon is ended by force below
                host.stop()
        remove_left(testbed)


def remove_left(testbed: str) -> None:
    """Remove all that is named after a lab, also by a run that was killed: daemons, mounts, namespaces and folders."""
    folders = [found for found in Path("/var/tmp").glob(f"{testbed}-*") if found.lstat().st_uid == os.geteuid()]
    for folder in folders:
        for pid_file in folder.glob(f"*/{PID_FILE}"):
            _end_daemon(pid_file)
    if folders:
        time.sleep(0.5)  # until what a daemon started has unmounted
    for folder in folders:
        for mount in reversed(_mounts_below(folder)):
            subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)
    for namespace in Path("/run/netns").glob(f"{testbed}-*"):
        subprocess.run(["ip", "netns", "del", namespace.name], check=False, capture_output=True)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def run(*command: str) -> None:
    """Run a program that must succeed."""
    subprocess.run(command, check=True, capture_output=True, text=True)


def storage_driver() -> str:
    """Return the driver that this machine's engine uses, which works for others beside it."""
    return str(engine.connect().info()["Driver"])


def _connect(testbed: str, host: LabHost) -> None:
    """Make the folder and the namespace of a host, and its link to the switch."""
    host.folder.mkdir()
    run("ip", "netns", "add", host.namespace)
    link = ["type", "veth", "peer", "name", "eth0", "netns", host.namespace]
    run("ip", "-n", f"{testbed}-sw", "link", "add", host.cable, "mtu", str(UNDERLAY_MTU), *link)
    run("ip", "-n", f"{testbed}-sw", "link", "set", host.cable, "master", "sw0", "up")
    run("ip", "-n", host.namespace, "link", "set", "lo", "up")
    run("ip", "-n", host.namespace, "link", "set", "eth0", "mtu", str(UNDERLAY_MTU), "up")
    run("ip", "-n", host.namespace, "addr", "add", f"{host.address}/24", "dev", "eth0")
    run("nsenter", f"--net=/run/netns/{host.namespace}", "sysctl", "-qw", "net.ipv4.ip_forward=1")


def _enter(namespace: int) -> None:
    """Enter a network namespace with this thread."""
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def _end_daemon(pid_file: Path) -> None:
    """End the daemon that wrote the file, by force if it does not end in time."""
    with contextlib.suppress(OSError, ValueError):  # it has ended
        number = int(pid_file.read_text())
        for sent in (signal.SIGTERM, signal.SIGKILL):
            host_deadline_s = time.monotonic() + DAEMON_WITHIN_HOST_S
            if _has_written(number, pid_file):
                os.kill(number, sent)
            while _has_written(number, pid_file) and time.monotonic() < host_deadline_s:
                time.sleep(0.1)


def _has_written(number: int, pid_file: Path) -> bool:
    """Return whether the process of that number is the daemon with this file, and not one that got the number later."""
    return os.fsencode(pid_file) in Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")


def _copy_images(host: LabHost, names: Sequence[str]) -> None:
    """Copy images of this machine's engine to a host, in one stream."""
    with subprocess.Popen(["docker", "save", *names], stdout=subprocess.PIPE) as saving:
        subprocess.run(
            ["docker", "-H", host.engine, "load", "-q"], stdin=saving.stdout, check=True, capture_output=True
        )
    assert saving.returncode == 0


def _mounts_below(folder: Path) -> list[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [line.split()[1] for line in lines if line.split()[1].startswith(f"{folder}/")]
