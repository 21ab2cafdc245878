"""Entry point of a cluster's container: configures and starts munge, Slurm and SSH, and starts again what ends.

The environment states TESTBED_CLUSTER (the name), TESTBED_NODES, TESTBED_PROCESSORS_PER_NODE, if jobs share no node
TESTBED_EXCLUSIVE_NODES, and the route to the other sites: TESTBED_ALL_SITES is their address range, TESTBED_ROUTER the
gateway. Unless TESTBED_HAS_REAL_CLUSTERS is set, no route leads out of the testbed's networks, nor to the host.
/etc/testbed/keys holds the host key, the users' public keys, the key with which clusters log in to one another, and
known_hosts. The program prints a line ``ready`` when all virtual nodes are idle and SSH answers. A daemon that ends is
started again; healthy.sh names what is missing meanwhile. Jobs outlive their slurmctld and slurmd, which find them
again. If a daemon keeps ending before the cluster was ready, the program ends with `REFUSED`, and its last line says
what that daemon complains of.
"""

from __future__ import annotations

import ipaddress
import json
import os
import pwd
import re
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

KEYS = Path("/etc/testbed/keys")
SSHD_CONFIGURATION = Path(__file__).with_name("sshd_config")
READY = Path("/run/testbed/ready")
PREPARED = Path("/run/testbed/prepared")
"""The folder of the prepared process (apps/start/prepared.py)."""
COMMANDS_ROOM = " " * 1000
"""What ps shows of the commands of a job's processes, which the prepared process forks, takes no more than this."""
USER = "researcher"
FIRST_SLURMD_PORT = 17001
SLURMCTLD_STATE = Path("/var/spool/slurmctld")
JOBS_OF_A_START = 100_000
MOST_STARTS = 600
"""Slurm's job numbers go up to 67 million."""
CLOCK_LOOK_HOST_S = 1.0
CLOCK_STEP_S = 5.0
"""The wall clock counts as set if it has moved by more than this against the monotonic clock since the last look."""
LISTENS = "0A"
"""The state of a listening socket in /proc/net/tcp."""
READY_WITHIN_HOST_S = 120.0
STEADY_HOST_S = 10.0
"""A daemon that ran this long is started again at once when it ends; else after a pause that doubles."""
SHORTEST_PAUSE_HOST_S = 0.2
LONGEST_PAUSE_HOST_S = 5.0
MISSING = ("/bin/false",)
"""What is started in place of a program that is missing: it ends, and is started again like any daemon."""
MOST_EARLY_ENDS = 3
"""A program whose daemons ended so often before the cluster was ready is started once more to hear what it says."""
REFUSES_WITHIN_HOST_S = 5.0
"""One that runs for so long then does not refuse to: something else ended it before."""
REFUSED = 78
"""The exit status if a daemon refuses to run, by which `testbed up` knows that another start would not help."""
CONFIGURED_BY = {
    "munged": "prepare_munge in images/node/entrypoint.py",
    "slurmctld": "the cluster's nodes and processors in the topology, or SLURM_CONF in images/node/entrypoint.py",
    "slurmd": "the cluster's nodes and processors in the topology, or SLURM_CONF in images/node/entrypoint.py",
    "sshd": "images/node/sshd_config",
}
"""What decides how each program is configured."""
COMPLAINS = re.compile(r"\b(error|fatal)\b", re.IGNORECASE)
MOST_CHARACTERS = 200
"""What is shown of a line of a daemon."""

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
SelectTypeParameters=CR_CPU
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
NodeName=n[1-{nodes}] NodeHostname={cluster} NodeAddr=127.0.0.1 Port=[{first_port}-{last_port}] \
CPUs={processors} RealMemory=4096 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=INFINITE State=UP OverSubscribe={sharing}
"""

# Slurm reads this file even if no plugin uses cgroups; the v1 plugin changes nothing by default.
CGROUP_CONF = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"


def make_slurm_folders() -> None:
    """Make the folders that Slurm needs."""
    Path("/etc/slurm").mkdir(exist_ok=True)
    for folder in (SLURMCTLD_STATE, Path("/var/log/slurm")):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.chown(folder, "slurm", "slurm")


def write_slurm_configuration(cluster: str, nodes: int, processors_per_node: int, *, exclusive: bool) -> None:
    """Write slurm.conf and cgroup.conf for another start of slurmctld."""
    first_job = next_first_job(SLURMCTLD_STATE / "starts")
    text = slurm_configuration(cluster, nodes, processors_per_node, first_job, exclusive=exclusive)
    replace(Path("/etc/slurm/slurm.conf"), text)
    replace(Path("/etc/slurm/cgroup.conf"), CGROUP_CONF)


def slurm_configuration(cluster: str, nodes: int, processors_per_node: int, first_job: int, *, exclusive: bool) -> str:
    """Return slurm.conf; if nodes are `exclusive`, each job gets all processors of its nodes."""
    return SLURM_CONF.format(
        cluster=cluster,
        nodes=nodes,
        processors=processors_per_node,
        first_job=first_job,
        first_port=FIRST_SLURMD_PORT,
        last_port=FIRST_SLURMD_PORT + nodes - 1,
        sharing="EXCLUSIVE" if exclusive else "NO",
    )


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


Command = tuple[Sequence[str], Mapping[str, Any]]
"""The words of a daemon's command, and the options of its process."""


class Daemons:
    """The daemons of this cluster, by process id; one that ends is started again."""

    def __init__(self, cluster: str = "") -> None:
        self._cluster = cluster
        self._first_commands: dict[str, Command] = {}
        self._commands: dict[str, Command] = {}
        self._early_ends: Counter[str] = Counter()
        self._preparations: dict[str, Callable[[], None]] = {}
        # A process object that is thrown away takes the end of its process with it, so each is kept until that ends.
        self._running: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}
        self._started_host_s: dict[str, float] = {}
        self._pauses_host_s: dict[str, float] = {}

    def start(
        self,
        name: str,
        command: Sequence[str],
        restart: Sequence[str] | None = None,
        prepare: Callable[[], None] | None = None,
        **options: Any,
    ) -> None:
        """Start a daemon; if it ends, it is started again by `restart`, or by the same command.

        Each start is made ready by `prepare`.
        """
        if prepare is not None:
            self._preparations[name] = prepare
        self._launch(name, command, options)
        self._first_commands[name] = (command, options)
        self._commands[name] = (restart or command, options)

    def until(self, condition: Callable[[], bool], what: str, pause_host_s: float = 0.05) -> None:
        """Wait until a condition of the cluster's start holds, as `wait_until` does, and look after the daemons."""

        def holds() -> bool:
            self.start_ended_again()
            return condition()

        wait_until(holds, what, pause_host_s)

    def start_ended_again(self) -> None:
        """Start the daemons that have ended again, as they were started first; wait for none.

        Ends the container if a daemon keeps ending because it refuses to run.
        """
        while (ended := ended_child()) is not None:
            name = self._note_end(*ended)
            if name is None:
                continue
            self._early_ends[program_of(name)] += 1
            if self._early_ends[program_of(name)] % MOST_EARLY_ENDS == 0:
                self._end_if_refused(name)
            self._launch_later(name, self._first_commands[name])

    def watch(self) -> None:
        """Start each daemon that ends again, for ever."""
        while True:
            self.await_end()

    def end(self, name: str) -> None:
        """End a daemon, which is then started again; any thread may call this."""
        for pid, (running, _) in list(self._running.items()):
            if running == name:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)

    def await_end(self) -> None:
        """Wait until a child process ends; if it is a daemon, start it again."""
        name = self._note_end(*os.wait())
        if name is not None:
            self._launch_later(name, self._commands[name])

    def _note_end(self, pid: int, status: int) -> str | None:
        """Return the daemon that a process was, which runs no longer, or None if it was none."""
        if pid not in self._running:
            return None
        name, process = self._running.pop(pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        print(f"{name} ended ({status}); it is started again")
        return name

    def _end_if_refused(self, name: str) -> None:
        """Start a daemon that keeps ending once more; if it ends again, end the container, and say why."""
        said = last_words(*self._first_commands[name])
        if said is not None:
            # The last line that the container prints: `testbed up` shows it.
            print(
                f"{name} of cluster {self._cluster!r} ends whenever it is started, and says {said!r} (correct what it "
                f"names; its configuration is made from {CONFIGURED_BY[program_of(name)]})"
            )
            sys.exit(REFUSED)

    def _launch_later(self, name: str, command: Command) -> None:
        time.sleep(self._pause_host_s(name))
        self._launch(name, *command)

    def _launch(self, name: str, command: Sequence[str], options: Mapping[str, Any]) -> None:
        try:
            self._preparations.get(name, lambda: None)()
            process = subprocess.Popen(command, **options)
        except OSError as error:
            print(f"{name} cannot be started: {error}")
            process = subprocess.Popen(MISSING)
        self._running[process.pid] = (name, process)
        self._started_host_s[name] = time.monotonic()

    def _pause_host_s(self, name: str) -> float:
        """Return how long to wait before a daemon that ended is started again."""
        was_steady = time.monotonic() - self._started_host_s[name] > STEADY_HOST_S
        pause_host_s = 0.0 if was_steady else self._pauses_host_s.get(name, SHORTEST_PAUSE_HOST_S)
        self._pauses_host_s[name] = min(LONGEST_PAUSE_HOST_S, max(SHORTEST_PAUSE_HOST_S, 2 * pause_host_s))
        return pause_host_s


def ended_child() -> tuple[int, int] | None:
    """Return the process id and status of a child that has ended, if there is one."""
    with suppress(ChildProcessError):
        pid, status = os.waitpid(-1, os.WNOHANG)
        return (pid, status) if pid else None
    return None


def program_of(daemon: str) -> str:
    """Return the program of a daemon, whose name may add a node's."""
    return daemon.partition(" ")[0]


def last_words(command: Sequence[str], options: Mapping[str, Any]) -> str | None:
    """Start a daemon to hear why it ends; return its complaint, or None if it does not end."""
    with tempfile.TemporaryFile() as printed:
        try:
            process = subprocess.Popen(command, **{**options, "stdout": printed, "stderr": printed})
        except OSError as error:
            return str(error)
        try:
            status = process.wait(REFUSES_WITHIN_HOST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
        printed.seek(0)
        said = complaint(printed.read().decode(errors="replace"))
        if status < 0:
            return f"{said or 'nothing'} (it ended with signal {-status})"
        return said or f"nothing (it ended with status {status})"


def complaint(printed: str) -> str:
    """Return the first line that names an error, with the one that names a fatal one; or else the first line."""
    lines = [line.strip()[:MOST_CHARACTERS] for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if COMPLAINS.search(line)]
    fatal = [line for line in errors if "fatal" in line.lower()]
    return "; ".join(dict.fromkeys([*(errors or lines)[:1], *fatal[:1]]))


def watch_clock(daemons: Daemons) -> None:
    """Start slurmctld again whenever the wall clock is set.

    It does what is due by that clock: once the clock was set back, it starts no waiting job and shows old numbers of
    idle processors until the clock has caught up. Started again it finds its jobs.
    """
    ahead_s = time.time() - time.monotonic()
    while True:
        time.sleep(CLOCK_LOOK_HOST_S)
        before_s, ahead_s = ahead_s, time.time() - time.monotonic()
        if abs(ahead_s - before_s) > CLOCK_STEP_S:
            print(f"the clock was set by {ahead_s - before_s:.0f} s")
            daemons.end("slurmctld")


def start_daemons(cluster: str, nodes: int, configure: Callable[[], None]) -> Daemons:
    """Start all daemons; `configure` writes Slurm's configuration for each start of slurmctld."""
    daemons, munge = Daemons(cluster), pwd.getpwnam("munge")
    account: dict[str, Any] = {"user": munge.pw_uid, "group": munge.pw_gid, "extra_groups": []}
    log = os.open("/var/log/munge/munged.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    daemons.start("munged", ["munged", "--foreground"], stderr=log, **account)
    daemons.until(lambda: Path("/run/munge/munge.socket.2").exists(), "munged")
    # The jobs of an earlier start of this container ended with it, so the controller begins without them. One that is
    # started again in the same container finds its jobs.
    daemons.start("slurmctld", ["slurmctld", "-D", "-c"], restart=["slurmctld", "-D"], prepare=configure)
    daemons.start("sshd", ["/usr/sbin/sshd", "-D", "-f", str(SSHD_CONFIGURATION)])
    daemons.until(lambda: answers(6817), "slurmctld")
    for index in range(1, nodes + 1):
        node = f"n{index}"
        daemons.start(f"slurmd of {node}", ["slurmd", "-D", "-N", node], stderr=subprocess.DEVNULL)
    return daemons


def start_prepared(daemons: Daemons) -> None:
    """Start the process that the ranks of jobs are forked from. Jobs start without it too, but at more cost."""
    user = pwd.getpwnam(USER)
    PREPARED.mkdir(mode=0o700, exist_ok=True)
    shutil.chown(PREPARED, USER, USER)
    # References that are resolved now are resolved for all ranks.
    environment = {**os.environ, "LD_BIND_NOW": "1", "HOME": user.pw_dir}
    account: dict[str, Any] = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    command = ["/usr/bin/python3", "-m", "apps.start.prepared", COMMANDS_ROOM]
    daemons.start("prepared process", command, env=environment, cwd="/", stdin=subprocess.DEVNULL, **account)


def answers(port: int) -> bool:
    """Return whether a process listens on a local port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def all_listen(nodes: int) -> bool:
    """Return whether the slurmd of every virtual node listens; found without starting a program."""
    ports = range(FIRST_SLURMD_PORT, FIRST_SLURMD_PORT + nodes)
    return listening_ports(Path("/proc/net/tcp").read_text()).issuperset(ports)


def listening_ports(table: str) -> set[int]:
    """Return the ports of the kernel's table of sockets that are listened on."""
    sockets = (line.split() for line in table.splitlines()[1:])
    return {int(fields[1].rpartition(":")[2], 16) for fields in sockets if fields[3] == LISTENS}


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


def route_sites() -> None:
    """Route traffic to other sites through the router of the wide area."""
    command = ["ip", "route", "replace", os.environ["TESTBED_ALL_SITES"], "via", os.environ["TESTBED_ROUTER"]]
    subprocess.run(command, check=True)


def close_network() -> None:
    """Remove the routes out of the testbed's networks and to the host, which Docker makes at every start."""
    wait_until(network_is_closed, "the closed network")


def network_is_closed() -> bool:
    """Return whether no route led out of the testbed's networks, nor to the host; else close those that do.

    Docker may change routes between the listing and a command, which then fails; the next listing shows what is left.
    """
    listed = subprocess.run(["ip", "-4", "-json", "route", "show"], capture_output=True, text=True, check=False)
    if listed.returncode != 0 or not listed.stdout.strip():
        return False
    commands = closing_routes(json.loads(listed.stdout))
    for arguments in commands:
        subprocess.run(["ip", "route", *arguments], check=False)
    return not commands


def closing_routes(routes: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return what `ip route` must do: delete default routes, and prohibit the host, the first address of a network."""
    prohibited = {str(route["dst"]) for route in routes if route.get("type") == "prohibit"}
    words = []
    for route in routes:
        if route["dst"] == "default":
            words.append(["del", "default", "dev", str(route["dev"])])
        elif route.get("scope") == "link":
            host = str(ipaddress.ip_network(str(route["dst"]))[1])
            if host not in prohibited:
                words.append(["replace", "prohibit", f"{host}/32"])
    return words


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
        if not os.environ.get("TESTBED_HAS_REAL_CLUSTERS"):
            close_network()
        continue_without_network_rights()
    raise_limits()
    cluster = os.environ["TESTBED_CLUSTER"]
    nodes = int(os.environ["TESTBED_NODES"])
    READY.unlink(missing_ok=True)
    # What a container that was killed left there is not alive.
    Path("/run/munge/munge.socket.2").unlink(missing_ok=True)
    make_slurm_folders()
    prepare_munge()
    prepare_ssh()
    processors = int(os.environ["TESTBED_PROCESSORS_PER_NODE"])
    exclusive = bool(os.environ.get("TESTBED_EXCLUSIVE_NODES"))
    daemons = start_daemons(
        cluster, nodes, lambda: write_slurm_configuration(cluster, nodes, processors, exclusive=exclusive)
    )
    # Asking Slurm starts a program, while all other clusters start too: it is asked when the answer may be yes.
    daemons.until(lambda: all_listen(nodes), "slurmd", pause_host_s=0.2)
    daemons.until(lambda: all_idle(nodes), "Slurm", pause_host_s=0.2)
    daemons.until(lambda: answers(22), "sshd")
    READY.parent.mkdir(exist_ok=True)
    READY.touch()
    print("ready")
    start_prepared(daemons)
    threading.Thread(target=watch_clock, args=(daemons,), daemon=True).start()
    daemons.watch()


if __name__ == "__main__":
    main()
