"""What `tests.bench.start` runs inside a node container: one job's start and end, timed, or its memory, on one line.

Its argument is a JSON document: `command`, an mpirun of ranks that report `started`, and `memory`, whether to let the
ranks start, add up their memory and end them, in place of waiting for their end. Standard library only.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PREPARED = b"apps.start.prepared"
USAGES = {"/sys/fs/cgroup/cpuacct/cpuacct.usage": 1e-9, "/sys/fs/cgroup/cpu.stat": 1e-6}
"""The container's CPU time under both versions of cgroups, and its unit in seconds."""


def cpu_s() -> float:
    """The CPU time that this container has used."""
    for file, unit_s in USAGES.items():
        if Path(file).exists():
            return float(Path(file).read_text().split()[-1 if unit_s == 1e-9 else 1]) * unit_s
    sys.exit("The container's CPU time is in no file that is known.")


def roots(job: int) -> list[int]:
    """The processes that the ranks of a job descend from: its mpirun, and the prepared process."""
    commands = {int(file.parent.name): file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline")}
    return [job, *(process for process, words in commands.items() if PREPARED in words)]


def descendants(root: int) -> Iterator[int]:
    """The processes below `root`."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    waiting = [root]
    while waiting:
        process = waiting.pop()
        below = children.get(process, [])
        yield from below
        waiting += below


def memory_bytes(job: int) -> int:
    """What the processes of a job occupy together, shared pages counted once."""
    total = 0
    for process in (process for root in roots(job) for process in descendants(root)):
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


def measure(command: list[str], memory: bool) -> dict[str, float]:
    """The job's start and end in seconds after mpirun is executed, and its processes' CPU time; or its memory."""
    before_s, began_s = cpu_s(), time.time()
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert job.stdout is not None
    assert job.stderr is not None
    started_s = None
    for line in job.stdout:
        event = json.loads(line)
        if event["event"] == "started":
            started_s = event["host_moment_s"] - began_s
            if memory:
                occupied = memory_bytes(job.pid)
                job.terminate()
                job.communicate()
                return {"memory_bytes": occupied}
    complaints = job.stderr.read()
    if job.wait() or started_s is None:
        sys.exit(f"The job failed: {complaints}")
    ended_s = time.time() - began_s
    return {"started_s": started_s, "ended_s": ended_s, "cpu_s": cpu_s() - before_s}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
