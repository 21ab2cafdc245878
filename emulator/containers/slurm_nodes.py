"""The nodes of an emulated cluster as its Slurm counts them: idle processors, and nodes that get no job.

A node that is *down* returns by itself when its `slurmd` registers. One that is *drained* stays so until somebody
resumes it, whether a user drained it or Slurm did: Slurm drains a node on which something went wrong once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import docker
import docker.errors

from emulator.containers import engine
from emulator.model.errors import TestbedError

DRAINED: Final = frozenset({"drain", "drng", "fail", "failg"})
DOWN: Final = frozenset({"down", "inval"})
FLAGS: Final = "*$^@#%~!+-"
"""Marks that follow a state, such as `*` for a node that does not answer."""
SLURMS_OWN: Final = frozenset(
    {
        "Kill task failed",
        "Job step not running",
        "Duplicate jobid",
        "Not responding",
        "batch job complete failure",
        "Prolog/Epilog failure",
        "Epilog error",
    }
)
"""The reasons for which Slurm itself takes a node away from jobs (version 22.05), as it words them."""

_ASK: Final = ("sinfo", "--noheader", "--Node", "--format=%N|%t|%C|%E")
_OWN: Final = frozenset(reason.casefold() for reason in SLURMS_OWN)


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """A virtual node: its state without flags, its idle processors, and why it gets no job, if it gets none."""

    name: str
    state: str
    idle: int
    reason: str

    @property
    def gets_no_job(self) -> bool:
        """Whether it is drained or down."""
        return self.state in DRAINED or self.state in DOWN

    @property
    def is_drained_by_slurm(self) -> bool:
        """Whether Slurm drained it for a reason of its own, so that nobody minds if it is resumed."""
        return self.state in DRAINED and self.reason.casefold() in _OWN

    @property
    def is_drained_by_user(self) -> bool:
        """Whether a user drained it, who alone knows when it may be resumed."""
        return self.state in DRAINED and not self.is_drained_by_slurm


def ask_nodes(client: docker.DockerClient, container: str) -> tuple[SlurmNode, ...] | None:
    """Return the nodes of the cluster in a container, or None if its Slurm does not answer."""
    try:
        code, printed = engine.read_output(client.containers.get(container), _ASK)
    except (docker.errors.APIError, TestbedError):
        return None
    return listed_nodes(printed) if code == 0 and printed else None


def listed_nodes(printed: str) -> tuple[SlurmNode, ...]:
    """Return the nodes that Slurm listed, a line each; lines that are none are skipped, as a reason may hold some."""
    found = []
    for line in printed.splitlines():
        name, state, processors, reason = [*line.split("|", 3), "", "", ""][:4]
        counts = processors.split("/")
        if len(counts) == 4 and all(count.isdecimal() for count in counts):
            found.append(SlurmNode(name, state.rstrip(FLAGS), int(counts[1]), reason.strip()))
    return tuple(found)


def resume_command(nodes: Sequence[SlurmNode]) -> tuple[str, ...]:
    """Return the command with which root has Slurm give jobs to `nodes` again."""
    return ("scontrol", "update", f"nodename={','.join(node.name for node in nodes)}", "state=resume")


def resume(client: docker.DockerClient, container: str, nodes: Sequence[SlurmNode]) -> str:
    """Have the Slurm in a container give jobs to `nodes` again; return what it complains of, empty if of nothing."""
    try:
        code, printed = client.containers.get(container).exec_run(list(resume_command(nodes)))
    except (docker.errors.APIError, TestbedError) as error:
        return str(error)
    return "" if code == 0 else printed.decode(errors="replace").strip() or f"scontrol ended with status {code}"
