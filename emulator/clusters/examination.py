"""The examination of a real cluster's head before a testbed uses it: host key, Slurm, partition, programs, clock.

Only the head is asked, and no job is queued. Whether its nodes see the same files as the head is not checked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import paramiko

from emulator.clusters.reaching import reach
from emulator.model.errors import ClusterUnreachable
from emulator.model.finding import Finding
from emulator.model.real_head import Hop, RealHead
from emulator.model.topology import Cluster

OLDEST_SLURM: Final = (20, 11)
"""The first Slurm whose steps may overlap."""

CLOCKS_APART_HOST_S: Final = 0.1
"""Claims carry timestamps of the head, starts those of the broker: every wait time contains their difference."""

ANSWER_WITHIN_HOST_S: Final = 30.0
SLURM_PROGRAMS: Final = ("srun", "sbatch", "scancel", "squeue", "scontrol")
"""Programs that claims need on the path of a plain login, because no setup runs before them."""

OPEN_MPI: Final = "(Open MPI) 4.1"
"""In the version of a mpirun that understands what the testbed asks of it."""

RANK_PROGRAMS: Final = ("mpirun", "start-rank")
"""Programs that a rank needs on the path of a head and of its nodes, after the setup."""

FILE_PROGRAMS: Final = ("rsync", "openssl")
"""Programs that make and transfer files, beside a bash that has EPOCHREALTIME."""

INSTALL: Final = "docs/real-clusters.md says how to install it"

RANK_PYTHON: Final = "/usr/bin/python3"
PYTHON_VARIABLE: Final = "TESTBED_PYTHON"
"""`start-rank` (apps/start/rank.c) starts the Python that this variable names, else `RANK_PYTHON`."""

PYTHON_IMPORTS: Final = (
    (
        "numpy",
        "import numpy; print(numpy.__version__)",
        f"install numpy for that Python, or name another one by {PYTHON_VARIABLE} in ssh.setup ({INSTALL})",
    ),
    (
        "mpi4py",
        "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(mpi4py.__version__)",
        f"install mpi4py for that Python, or name another one by {PYTHON_VARIABLE} in ssh.setup ({INSTALL})",
    ),
    ("applications", 'import apps.start.parent; print("found")', f"put them on PYTHONPATH by ssh.setup ({INSTALL})"),
)
"""What the Python of ranks must be able to import after the setup: a name, code that says something, and the remedy.

MPI is loaded and not initialized, because the head is not part of a job.
"""


@dataclass(frozen=True, slots=True)
class ExaminedHead:
    """A head that answered: its route, known-hosts lines with the keys of all hops, and what was found there."""

    route: tuple[Hop, ...]
    known_hosts_lines: tuple[str, ...]
    findings: tuple[Finding, ...]


def examine_head(cluster: Cluster, ssh: RealHead) -> ExaminedHead:
    """Examine a real cluster's head.

    Raises:
        ClusterUnreachable: if it cannot be reached as its topology says.
    """
    reached = reach(cluster.name, ssh)
    with reached.connection as connection:
        questions = _Questions(cluster, ssh, connection.head)
        host_keys = ", ".join(" ".join(line.split()[:2]) for line in reached.known_hosts_lines)
        return ExaminedHead(
            reached.route,
            reached.known_hosts_lines,
            (
                Finding("route", True, described(reached.route), needed=True),
                Finding("host key", True, host_keys, needed=True),
                questions.slurm(),
                questions.processors(),
                *questions.programs(),
                questions.files(),
                questions.clock(),
            ),
        )


def described(route: tuple[Hop, ...]) -> str:
    """Return a route in words: the head, the jump hosts before it, and the keys for all of them."""
    *jumps, head = route
    by_way = f" by way of {', '.join(hop.shown for hop in jumps)}" if jumps else ""
    keys = dict.fromkeys(str(hop.key_file) if hop.key_file else "a key of the ssh-agent" for hop in route)
    return f"{head.shown}{by_way}, with {' and '.join(keys)}"


class _Questions:
    """The questions to a head that accepted the connection."""

    def __init__(self, cluster: Cluster, ssh: RealHead, client: paramiko.SSHClient) -> None:
        self._cluster, self._ssh, self._client = cluster, ssh, client

    def slurm(self) -> Finding:
        """Check that Slurm's controller answers and is recent enough."""
        pinged, version = self._output("scontrol ping"), self._output("sinfo --version").split()[-1:]
        numbers = version[0].split(".")[:2] if version else []
        young = len(numbers) == 2 and all(map(str.isdigit, numbers)) and tuple(map(int, numbers)) >= OLDEST_SLURM
        answers = " UP" in pinged
        found = f"{'answers' if answers else 'does not answer'}, version {version[0] if version else 'unknown'}"
        remedy = f"have Slurm {OLDEST_SLURM[0]}.{OLDEST_SLURM[1]} or later run there, and `sinfo` on the user's path"
        return Finding("Slurm", answers and young, found, remedy, needed=True)

    def processors(self) -> Finding:
        """Check that the partition exists and holds what the topology says."""
        named = self._ssh.partition
        listed = self._output(f"sinfo -h{f' --partition={named}' if named else ''} -o '%P %D %c %C'").splitlines()
        rows = [line.split() for line in listed if named or line.split()[0].endswith("*")]
        what = f"partition {named!r}" if named else "the default partition"
        if not rows:
            known = sorted({line.rstrip("*") for line in self._output("sinfo -h -o '%P'").split()})
            remedy = f"state one of {', '.join(known) or 'none'} as ssh.partition"
            return Finding("partition", False, f"{what} does not exist", remedy, needed=True)
        nodes, processors = sum(int(row[1]) for row in rows), sum(int(row[3].split("/")[3]) for row in rows)
        narrowest = min(int(row[2].rstrip("+")) for row in rows)
        cluster = self._cluster
        enough = nodes >= cluster.nodes and processors >= cluster.processors
        found = f"{what}: {nodes} nodes, {processors} processors, {narrowest} or more on each"
        remedy = f"the topology says {cluster.nodes} nodes of {cluster.processors_per_node}: correct `nodes` there"
        return Finding("partition", enough and narrowest >= cluster.processors_per_node, found, remedy, needed=True)

    def programs(self) -> Iterator[Finding]:
        """Check the programs that claims need on the path, and those that ranks need after the topology's `setup`."""
        for program in SLURM_PROGRAMS:
            found = self._output(f"command -v {program}").strip()
            remedy = "put it on the path of a login without a terminal, in ~/.bashrc for instance"
            yield Finding(program, bool(found), found or "not found", remedy, needed=True)
        for program in RANK_PROGRAMS:
            found = self._output_prepared(f"command -v {program}")
            remedy = f"install it, or put it on the path by ssh.setup ({INSTALL})"
            yield Finding(program, bool(found), found or "not found", remedy, needed=True)
        version = self._output_prepared("mpirun --version | head -1")
        is_known = OPEN_MPI in version
        yield Finding("Open MPI", is_known, version or "none", f"install Open MPI 4.1 ({INSTALL})", needed=True)
        yield from self._imports()

    def _imports(self) -> Iterator[Finding]:
        """Check what the Python of ranks must be able to import."""
        python = f'"${{{PYTHON_VARIABLE}:-{RANK_PYTHON}}}"'
        named = self._output_prepared(f"echo {python}")
        for name, code, remedy in PYTHON_IMPORTS:
            said = self._output_prepared(f"cd / && {python} -c '{code}'")
            yield Finding(name, bool(said), said or f"cannot be imported by {named}", remedy, needed=True)

    def files(self) -> Finding:
        """Check that files can be made and transferred there for jobs that read them."""
        lacking = [program for program in FILE_PROGRAMS if not self._output(f"command -v {program}")]
        if not self._output("bash -c 'echo $EPOCHREALTIME'").strip():
            lacking.append("bash 5")
        found = f"without {', '.join(lacking)}" if lacking else ", ".join(FILE_PROGRAMS)
        return Finding("files", not lacking, found, "install them, or run no job there that reads a file", needed=False)

    def clock(self) -> Finding:
        """Measure how far the head's clock is from this host's, to within half a round trip."""
        best_apart_s, best_trip_s = 0.0, float("inf")
        for _ in range(3):
            asked_s = time.time()
            said = self._output("date +%s.%N").strip()
            trip_s = time.time() - asked_s
            if said and trip_s < best_trip_s:
                best_apart_s, best_trip_s = float(said) - asked_s - trip_s / 2, trip_s
        ok = abs(best_apart_s) <= CLOCKS_APART_HOST_S + best_trip_s / 2
        found = f"{best_apart_s * 1000:+.0f} ms from this host's, to {best_trip_s * 500:.0f} ms"
        return Finding("clock", ok, found, "let both follow the same time servers (NTP)", needed=True)

    def _output_prepared(self, command: str) -> str:
        """Return a command's output after the topology's `setup`, which also runs before ranks start."""
        return self._output(f"{{ {self._ssh.setup or ':'}\n}} > /dev/null; {command}").strip()

    def _output(self, command: str) -> str:
        """Return a command's output there; an empty string if it fails.

        Raises:
            ClusterUnreachable: if the head stops answering.
        """
        try:
            _, output, _ = self._client.exec_command(command, timeout=ANSWER_WITHIN_HOST_S)
            said = output.read().decode(errors="replace")
            return said if output.channel.recv_exit_status() == 0 else ""
        except (OSError, EOFError, paramiko.SSHException) as problem:
            name, address = self._cluster.name, self._ssh.address
            raise ClusterUnreachable(f"Cluster {name!r}: {address} stopped answering ({problem}).") from problem
