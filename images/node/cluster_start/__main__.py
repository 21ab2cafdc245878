"""Start a cluster's container: configure and start munge, Slurm and SSH, and start again what ends.

The environment states TESTBED_CLUSTER (the name), TESTBED_NODES, TESTBED_PROCESSORS_PER_NODE, if jobs share no node
TESTBED_EXCLUSIVE_NODES, if tasks share nodes in time TESTBED_TIME_SHARING (the rule) and, if their memory counts,
TESTBED_NODE_MEMORY_MB and TESTBED_MEMORY_BESIDE_USERS_MB (what jobs may have of nodes at which people work), and the
route to the other sites: TESTBED_ALL_SITES is their address range, TESTBED_ROUTER the gateway. Unless
TESTBED_HAS_REAL_CLUSTERS is set, no route leads out of the testbed's networks, nor to the host. /etc/testbed/keys holds
the host key, the users' public keys, the key with which clusters log in to one another, and known_hosts. SSH is started
when all virtual nodes are idle, and the program prints a line ``ready`` when it answers. A daemon that ends is started
again; healthy.sh names what is missing meanwhile. Jobs outlive their slurmctld and slurmd, which find them again. If a
daemon keeps ending before the cluster was ready, the program ends with `refusal.REFUSED`, and its last line says what
that daemon complains of.
"""

from __future__ import annotations

import json
import os
import pwd
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cluster_start.clock_steps import watch_clock
from cluster_start.daemons import Daemons
from cluster_start.logins import USER, prepare_munge, prepare_ssh
from cluster_start.routes import close_network, route_sites
from cluster_start.slurm import all_idle, all_listen, make_slurm_folders, write_slurm_configuration
from cluster_start.waiting import answers

SSHD_CONFIGURATION = Path(__file__).parents[1] / "sshd_config"
READY = Path("/run/testbed/ready")
PREPARED = Path("/run/testbed/prepared")
"""The folder of the prepared process (apps/start/prepared.py)."""
ARBITER = Path("/run/testbed/arbiter")
"""The folder of the arbiter (apps/arbiter.py)."""
COMMANDS_ROOM = " " * 1000
"""What ps shows of the commands of a job's processes, which the prepared process forks, takes no more than this."""

OPEN_FILES = 65_536
"""For each process of a cluster."""


def start_cluster(daemons: Daemons, nodes: int, sharing: str, configure: Callable[[], None]) -> None:
    """Start what jobs need, and then SSH, since the broker places a job as soon as it can log in.

    A job that is placed earlier may fail, and its nodes are not idle. `sharing` is empty unless tasks share nodes.
    """
    if sharing:
        start_arbiter(daemons, sharing, nodes)
    start_slurm(daemons, nodes, configure)
    # Asking Slurm starts a program, while all other clusters start too: it is asked when the answer may be yes.
    daemons.until(lambda: all_listen(nodes), "slurmd", pause_host_s=0.2)
    daemons.until(lambda: all_idle(nodes), "Slurm", pause_host_s=0.2)
    if sharing:
        daemons.until((ARBITER / "socket").exists, "the arbiter")
    daemons.start("sshd", ["/usr/sbin/sshd", "-D", "-f", str(SSHD_CONFIGURATION)])
    daemons.until(lambda: answers(22), "sshd")


def start_slurm(daemons: Daemons, nodes: int, configure: Callable[[], None]) -> None:
    """Start munge and Slurm; `configure` writes Slurm's configuration for each start of slurmctld."""
    munge = pwd.getpwnam("munge")
    account: dict[str, Any] = {"user": munge.pw_uid, "group": munge.pw_gid, "extra_groups": []}
    log = os.open("/var/log/munge/munged.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    daemons.start("munged", ["munged", "--foreground"], stderr=log, **account)
    daemons.until(lambda: Path("/run/munge/munge.socket.2").exists(), "munged")
    # The jobs of an earlier start of this container ended with it, so the controller begins without them. One that is
    # started again in the same container finds its jobs.
    daemons.start("slurmctld", ["slurmctld", "-D", "-c"], restart=["slurmctld", "-D"], prepare=configure)
    daemons.until(lambda: answers(6817), "slurmctld")
    for index in range(1, nodes + 1):
        node = f"n{index}"
        daemons.start(f"slurmd of {node}", ["slurmd", "-D", "-N", node], stderr=subprocess.DEVNULL)


def start_prepared(daemons: Daemons) -> None:
    """Start the process that the ranks of jobs are forked from. Jobs start without it too, but at more cost."""
    # References that are resolved now are resolved for all ranks.
    command = ["/usr/bin/python3", "-m", "apps.start.prepared", COMMANDS_ROOM]
    start_for_user(daemons, "prepared process", PREPARED, command, LD_BIND_NOW="1")


def start_arbiter(daemons: Daemons, sharing: str, nodes: int) -> None:
    """Start the arbiter of nodes whose tasks share the processor in time."""
    command = ["/usr/bin/python3", "-m", "apps.arbiter", sharing, *(f"n{index}" for index in range(1, nodes + 1))]
    start_for_user(daemons, "arbiter", ARBITER, command)


def start_for_user(daemons: Daemons, name: str, folder: Path, command: Sequence[str], **environment: str) -> None:
    """Start a program of the testbed as the user of its jobs, with a folder that is this user's alone."""
    user = pwd.getpwnam(USER)
    folder.mkdir(mode=0o700, exist_ok=True)
    shutil.chown(folder, USER, USER)
    account: dict[str, Any] = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    variables = {**os.environ, "HOME": user.pw_dir, **environment}
    daemons.start(name, command, env=variables, cwd="/", stdin=subprocess.DEVNULL, **account)


def continue_without_network_rights() -> None:
    """Run this program again without NET_ADMIN, which its child processes cannot regain."""
    dropped = ["--bounding-set=-net_admin", "--inh-caps=-net_admin"]
    os.execvp("setpriv", ["setpriv", *dropped, sys.executable, "-u", "-m", "cluster_start", "without-network-rights"])


def limit_open_files() -> None:
    """Raise the limit of open files to what a cluster needs, as far as the engine permits, and not beyond.

    Some engines set none. Open MPI and Slurm close as many files as there may be each time they start a program, which
    would take minutes.
    """
    _, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if ceiling == resource.RLIM_INFINITY else min(ceiling, OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    """Start the cluster and watch its daemons."""
    if len(sys.argv) == 1:
        route_sites()
        if not os.environ.get("TESTBED_HAS_REAL_CLUSTERS"):
            close_network()
        continue_without_network_rights()
    limit_open_files()
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
    sharing = os.environ.get("TESTBED_TIME_SHARING", "")
    memory_mb = float(os.environ.get("TESTBED_NODE_MEMORY_MB", "0"))
    beside_users_mb = json.loads(os.environ.get("TESTBED_MEMORY_BESIDE_USERS_MB", "{}"))

    def configure() -> None:
        write_slurm_configuration(
            cluster,
            nodes,
            processors,
            exclusive=exclusive,
            time_sharing=bool(sharing),
            memory_mb=memory_mb,
            beside_users_mb=beside_users_mb,
        )

    READY.parent.mkdir(exist_ok=True)
    daemons = Daemons(cluster)
    start_cluster(daemons, nodes, sharing, configure)
    READY.touch()
    print("ready")
    start_prepared(daemons)
    threading.Thread(target=watch_clock, args=(daemons,), daemon=True).start()
    daemons.watch()


if __name__ == "__main__":
    main()
