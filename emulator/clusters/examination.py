"""A real cluster's head looked over before a testbed relies on it: host key, Slurm, partition, programs, clock.

Everything is asked of the head alone, and nothing is queued there: that its nodes see the same files as the head does
is for its user to know.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import paramiko

from emulator.clusters.host_keys import connected, known_hosts_line
from emulator.model.errors import ClusterUnreachable
from emulator.model.finding import Finding
from emulator.model.real_head import RealHead
from emulator.model.topology import Cluster

OLDEST_SLURM: Final = (20, 11)
"""The first Slurm whose steps may overlap."""

CLOCKS_APART_HOST_S: Final = 0.1
"""Claims carry the head's moments, and ranks start at the broker's: what clocks differ by is in every wait time."""

ANSWER_WITHIN_HOST_S: Final = 30.0
SLURM_PROGRAMS: Final = ("srun", "sbatch", "scancel", "squeue", "scontrol")
"""What claims are made with: on the path of a login, since nothing is set up for them."""

RANK_PROGRAMS: Final = ("mpirun", "start-rank")
"""What a rank needs to find on a head's path, and on its nodes', once they are set up."""

FILE_PROGRAMS: Final = ("rsync", "openssl", "sha256sum")
"""What makes files and brings them, beside a bash that tells the time."""

INSTALL: Final = "docs/real-clusters.md says how to install it"


@dataclass(frozen=True, slots=True)
class ExaminedHead:
    """A head that answered: a known-hosts line with its key, and what was found there."""

    known_hosts_line: str
    findings: tuple[Finding, ...]


def examine_head(cluster: Cluster, ssh: RealHead) -> ExaminedHead:
    """Look a real cluster's head over.

    Raises:
        ClusterUnreachable: if it cannot be reached as its topology says.
    """
    with connected(cluster.name, ssh) as client:
        line = known_hosts_line(ssh, client)
        asked = _Questions(cluster, ssh, client)
        reached = Finding("host key", True, " ".join(line.split()[:2]), needed=True)
        return ExaminedHead(
            line, (reached, asked.slurm(), asked.processors(), *asked.programs(), asked.files(), asked.clock())
        )


class _Questions:
    """What is asked of a head that let us in."""

    def __init__(self, cluster: Cluster, ssh: RealHead, client: paramiko.SSHClient) -> None:
        self._cluster, self._ssh, self._client = cluster, ssh, client

    def slurm(self) -> Finding:
        """Whether Slurm's controller answers, and is young enough."""
        pinged, version = self._say("scontrol ping"), self._say("sinfo --version").split()[-1:]
        numbers = version[0].split(".")[:2] if version else []
        young = len(numbers) == 2 and all(map(str.isdigit, numbers)) and tuple(map(int, numbers)) >= OLDEST_SLURM
        answers = " UP" in pinged
        found = f"{'answers' if answers else 'does not answer'}, version {version[0] if version else 'unknown'}"
        remedy = f"have Slurm {OLDEST_SLURM[0]}.{OLDEST_SLURM[1]} or later run there, and `sinfo` on the user's path"
        return Finding("Slurm", answers and young, found, remedy, needed=True)

    def processors(self) -> Finding:
        """Whether the partition is there, and holds what the topology says."""
        named = self._ssh.partition
        listed = self._say(f"sinfo -h{f' --partition={named}' if named else ''} -o '%P %D %c %C'").splitlines()
        rows = [line.split() for line in listed if named or line.split()[0].endswith("*")]
        what = f"partition {named!r}" if named else "the default partition"
        if not rows:
            known = sorted({line.rstrip("*") for line in self._say("sinfo -h -o '%P'").split()})
            remedy = f"state one of {', '.join(known) or 'none'} as ssh.partition"
            return Finding("partition", False, f"{what} does not exist", remedy, needed=True)
        nodes, processors = sum(int(row[1]) for row in rows), sum(int(row[3].split("/")[3]) for row in rows)
        narrowest = min(int(row[2].rstrip("+")) for row in rows)
        wanted = self._cluster
        enough = nodes >= wanted.nodes and processors >= wanted.processors
        found = f"{what}: {nodes} nodes, {processors} processors, {narrowest} or more on each"
        remedy = f"the topology says {wanted.nodes} nodes of {wanted.processors_per_node}: correct `nodes` there"
        return Finding("partition", enough and narrowest >= wanted.processors_per_node, found, remedy, needed=True)

    def programs(self) -> Iterator[Finding]:
        """Whether what claims need is on the path, and what ranks need after the topology's `setup`."""
        for program in SLURM_PROGRAMS:
            found = self._say(f"command -v {program}").strip()
            remedy = "put it on the path of a login without a terminal, in ~/.bashrc for instance"
            yield Finding(program, bool(found), found or "not found", remedy, needed=True)
        for program in RANK_PROGRAMS:
            found = self._say_prepared(f"command -v {program}")
            remedy = f"install it, or put it on the path by ssh.setup ({INSTALL})"
            yield Finding(program, bool(found), found or "not found", remedy, needed=True)
        version = self._say_prepared("mpirun --version | head -1")
        yield Finding("Open MPI", bool(version), version or "none", f"install Open MPI 4.1 ({INSTALL})", needed=True)
        numpy = self._say_prepared("cd / && python3 -c 'import apps.start.parent, numpy; print(numpy.__version__)'")
        found = f"found, with numpy {numpy}" if numpy else "cannot be imported"
        remedy = f"put them on PYTHONPATH by ssh.setup ({INSTALL})"
        yield Finding("applications", bool(numpy), found, remedy, needed=True)

    def files(self) -> Finding:
        """Whether jobs that read a file can be given it there."""
        lacking = [program for program in FILE_PROGRAMS if not self._say(f"command -v {program}")]
        if not self._say("bash -c 'echo $EPOCHREALTIME'").strip():
            lacking.append("bash 5")
        found = f"without {', '.join(lacking)}" if lacking else ", ".join(FILE_PROGRAMS)
        return Finding("files", not lacking, found, "install them, or run no job there that reads a file", needed=False)

    def clock(self) -> Finding:
        """How far the head's clock is from this host's; a round trip's half is nobody's fault."""
        best_apart_s, best_trip_s = 0.0, float("inf")
        for _ in range(3):
            asked_s = time.time()
            said = self._say("date +%s.%N").strip()
            trip_s = time.time() - asked_s
            if said and trip_s < best_trip_s:
                best_apart_s, best_trip_s = float(said) - asked_s - trip_s / 2, trip_s
        ok = abs(best_apart_s) <= CLOCKS_APART_HOST_S + best_trip_s / 2
        found = f"{best_apart_s * 1000:+.0f} ms from this host's, to {best_trip_s * 500:.0f} ms"
        return Finding("clock", ok, found, "let both follow the same time servers (NTP)", needed=True)

    def _say_prepared(self, command: str) -> str:
        """What a command prints once the topology's `setup` was run, as it is before ranks start."""
        return self._say(f"{{ {self._ssh.setup or ':'}\n}} > /dev/null; {command}").strip()

    def _say(self, command: str) -> str:
        """What a command prints there; nothing if it fails.

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
