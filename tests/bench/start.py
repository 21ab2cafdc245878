"""Run: ``python -m tests.bench.start``. What it costs to start and end a job's ranks, by four ways of starting them.

*plain* is a Python program that imports numpy, mpi4py and the applications' modules, started by mpirun with its
defaults but for those that ranks on few cores need; *apps* is ``python3 -m apps``, *warm* is ``start-rank`` where
it has to start the ranks' parent, and *prepared* where the parent is forked from the node's prepared process; these
three as the broker has mpirun start them. The job is one iteration of Poisson at grid 400. Times are seconds after
mpirun is executed: until every rank has passed the start barrier, and until mpirun has ended; CPU time is that of the
container meanwhile; memory is a rank's share of all of them while they iterate. The ways take turns, round by round, so
that a busy host slows them alike; medians are printed. Needs the node image.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apps.start.prepared import PLACE, PLACE_VARIABLE
from emulator.broker.jobs.mpirun_script import DISCOVERY, MPI_SETTINGS, RANK, SHARED_MEMORY

IMAGE = os.environ.get("TESTBED_NODE_IMAGE", "multicluster-testbed/node:dev")
MEASURED = Path(__file__).with_name("start_measured.py")
POISSON = ["poisson", "--grid", "400", "--native", "--iterations"]
MIB = 1024**2
PREPARED_WITHIN_HOST_S = 60

PLAIN = """
import json, time
import numpy, apps.run, apps.poisson
from mpi4py import MPI
ready_s = time.time()
last_s = MPI.COMM_WORLD.reduce(ready_s, op=MPI.MAX)
if MPI.COMM_WORLD.rank == 0:
    print(json.dumps({"event": "started", "host_moment_s": last_s}), flush=True)
time.sleep(LINGER)
"""


def mpirun(ranks: int, settings: dict[str, str]) -> list[str]:
    """The command that starts `ranks` ranks on this node, up to the ranks' own command."""
    options = [word for name, value in settings.items() for word in ("--mca", name, value)]
    return ["mpirun", "--oversubscribe", "--bind-to", "none", *options, "-n", str(ranks)]


def commands(ranks: int, *, endless: bool) -> dict[str, list[str]]:
    """The ways of starting a job; an endless one iterates until it is ended."""
    settings = {**MPI_SETTINGS, "btl": SHARED_MEMORY}
    few = {name: settings[name] for name in ("btl", "mpi_yield_when_idle", "btl_vader_single_copy_mechanism")}
    application = [*POISSON, "1000000" if endless else "1"]
    return {
        "plain": [*mpirun(ranks, few), "python3", "-c", PLAIN.replace("LINGER", "600" if endless else "0")],
        "apps": ["env", *DISCOVERY.split(), *mpirun(ranks, settings), "python3", "-m", "apps", *application],
        "warm": ["env", f"{PLACE_VARIABLE}=/nowhere", *DISCOVERY.split(), *mpirun(ranks, settings), RANK, *application],
        "prepared": ["env", *DISCOVERY.split(), *mpirun(ranks, settings), RANK, *application],
    }


@contextmanager
def node_container() -> Iterator[str]:
    """A container of the node image with the prepared process alone; it is gone afterwards."""
    command = [
        "docker",
        "run",
        "--detach",
        "--rm",
        "--init",
        "--shm-size",
        "2g",
        "--entrypoint",
        "sleep",
        IMAGE,
        "9999",
    ]
    identity = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    try:
        prepare(identity)
        yield identity
    finally:
        subprocess.run(["docker", "kill", identity], capture_output=True, check=True)


def prepare(container: str) -> None:
    """Start the prepared process, and wait until it listens.

    Exits:
        if it does not.
    """
    folder = str(Path(PLACE).parent)
    made = ["docker", "exec", container, "install", "--directory", "--owner=researcher", folder]
    subprocess.run(made, capture_output=True, check=True)
    started = ["docker", "exec", "--detach", "--user", "researcher", "--env", "LD_BIND_NOW=1", container]
    subprocess.run([*started, "python3", "-m", "apps.start.prepared", " " * 1000], capture_output=True, check=True)
    for _ in range(PREPARED_WITHIN_HOST_S):
        if subprocess.run(["docker", "exec", container, "test", "-S", PLACE], check=False).returncode == 0:
            return
        time.sleep(1.0)
    sys.exit("The prepared process does not listen.")


def measured(container: str, command: list[str], *, memory: bool) -> dict[str, float]:
    """One run of a job in the container.

    Exits:
        if the job fails.
    """
    document = json.dumps({"command": command, "memory": memory})
    inside = ["docker", "exec", "--interactive", "--user", "researcher", "--workdir", "/tmp", container]
    with MEASURED.open() as program:
        ran = subprocess.run(
            [*inside, "python3", "-", document], stdin=program, capture_output=True, text=True, check=False
        )
    if ran.returncode:
        sys.exit(ran.stderr.strip())
    figures: dict[str, float] = json.loads(ran.stdout)
    return figures


def compare(container: str, ranks: int, rounds: int) -> None:
    """Measures every way of starting `ranks` ranks and prints a row of each."""
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds):
        for way, command in commands(ranks, endless=False).items():
            found.setdefault(way, []).append(measured(container, command, memory=False))
    for way, command in commands(ranks, endless=True).items():
        occupied_bytes = measured(container, command, memory=True)["memory_bytes"]
        started_s, ended_s, cpu_s = (
            statistics.median(run[name] for run in found[way]) for name in ("started_s", "ended_s", "cpu_s")
        )
        row = f"{ranks:>5} {way:<6} {started_s:>9.2f} {ended_s:>8.2f} {cpu_s:>7.2f}"
        print(f"{row} {1000 * cpu_s / ranks:>12.0f} {occupied_bytes / ranks / MIB:>13.1f}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="start", description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 64, 128])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'ranks':>5} {'way':<6} {'started s':>9} {'ended s':>8} {'CPU s':>7} {'CPU ms/rank':>12} {'MiB/rank':>13}")
    with node_container() as container:
        for ranks in options.ranks:
            compare(container, ranks, options.rounds)


if __name__ == "__main__":
    main()
