"""Nodes that get no job: `status` says how many, why, and what helps; `up` resumes those that Slurm itself drained.

Slurm's commands are stand-ins that keep each node's state in a file.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from emulator.containers.inspection import drained_by_user, unavailable_nodes
from emulator.containers.progress import ProgressStep
from emulator.containers.repair import resume_drained_nodes
from emulator.containers.slurm_nodes import SlurmNode, ask_nodes, listed_nodes
from emulator.containers.state import ClusterRecord

DELFT = ClusterRecord(name="delft", container="lab-delft", head="10.111.0.11", site="10.111.129.10")
IDLE = "idle|0/2/0/2|none"
SINFO = """#!/bin/sh
[ "$*" = "--noheader --Node --format=%N|%t|%C|%E" ] || exit 1
for node in $(ls); do echo "$node|$(cat $node)"; done
"""
SCONTROL = f"""#!/bin/sh
[ "$1 $3" = "update state=resume" ] || exit 1
for node in $(echo "${{2#nodename=}}" | tr , ' '); do
    echo '{IDLE}' > $node
done
"""


@dataclass(frozen=True)
class Host:
    """An engine whose only container is a folder of this host; a double."""

    nodes: Path
    programs: Path

    @property
    def containers(self) -> "Host":
        return self

    def get(self, name: str) -> "Host":
        assert name == DELFT.container
        return self

    def exec_run(self, command: list[str]) -> tuple[int, bytes]:
        environment = {"PATH": f"{self.programs}:{os.environ['PATH']}"}
        ended = subprocess.run(command, capture_output=True, cwd=self.nodes, env=environment, check=False)
        return ended.returncode, ended.stdout

    def states(self) -> dict[str, str]:
        return {file.name: file.read_text().strip() for file in sorted(self.nodes.iterdir())}

    def set(self, **states: str) -> None:
        for name, state in states.items():
            (self.nodes / name).write_text(f"{state}\n")


@pytest.fixture
def host(tmp_path: Path) -> Any:
    for folder in ("nodes", "programs"):
        (tmp_path / folder).mkdir()
    for name, text in {"sinfo": SINFO, "scontrol": SCONTROL}.items():
        (tmp_path / "programs" / name).write_text(text)
        (tmp_path / "programs" / name).chmod(0o755)
    return Host(tmp_path / "nodes", tmp_path / "programs")


def resumed(host: Any) -> tuple[bool, list[str]]:
    steps: list[ProgressStep] = []
    return resume_drained_nodes(host, [DELFT], steps.append), [step.detail for step in steps]


def test_nodes_are_read_with_their_idle_processors_and_the_reason_why_they_get_no_job(host: Any) -> None:
    host.set(n1="mix|1/1/0/2|none", n2="drain|0/0/2/2|a | b", n3="down*|0/0/2/2|Not responding", n4=IDLE)
    nodes = ask_nodes(host, DELFT.container)
    assert nodes == (
        SlurmNode("n1", "mix", 1, "none"),
        SlurmNode("n2", "drain", 0, "a | b"),
        SlurmNode("n3", "down", 0, "Not responding"),
        SlurmNode("n4", "idle", 2, "none"),
    )
    assert [node.name for node in nodes if node.gets_no_job] == ["n2", "n3"]


def test_what_is_no_node_is_skipped_and_a_slurm_that_does_not_answer_has_none(host: Any) -> None:
    assert listed_nodes("n1|drain|0/0/2/2|first line\nsecond line\nn2|idle|x|none\n|||\n") == (
        SlurmNode("n1", "drain", 0, "first line"),
    )
    (host.programs / "sinfo").write_text("#!/bin/sh\necho 'slurm_load_partitions: Unable to contact'; exit 1\n")
    assert ask_nodes(host, DELFT.container) is None
    assert resumed(host) == (False, [])


@pytest.mark.parametrize("reason", ["Kill task failed", "Duplicate jobid", "Not responding", "kill task failed"])
@pytest.mark.parametrize("state", ["drain", "drng"])
def test_nodes_that_slurm_drained_are_resumed_and_named(host: Any, state: str, reason: str) -> None:
    host.set(n1=IDLE, n2=f"{state}|0/0/2/2|{reason}", n3=f"{state}|0/0/2/2|{reason}")
    said = f"lab-delft has nodes that Slurm drained, n2 ({reason}), n3 ({reason}): resuming them"
    assert resumed(host) == (True, [said])
    assert host.states() == {"n1": IDLE, "n2": IDLE, "n3": IDLE}
    assert resumed(host) == (False, [])


@pytest.mark.parametrize("reason", ["maintenance", "Kill task failed twice, I look at it", "none", "", "Kill"])
def test_a_node_that_a_user_drained_is_never_resumed(host: Any, reason: str) -> None:
    drained = f"drain|0/0/2/2|{reason}"
    host.set(n1=drained, n2="drain|0/0/2/2|Kill task failed", n3="down|0/0/2/2|Not responding")
    assert resumed(host)[0]
    assert host.states() == {"n1": drained, "n2": IDLE, "n3": "down|0/0/2/2|Not responding"}
    assert not resumed(host)[0]


def test_what_slurm_says_against_resuming_is_shown(host: Any) -> None:
    (host.programs / "scontrol").write_text("#!/bin/sh\necho 'slurm_update error: Access denied'; exit 1\n")
    host.set(n1="drain|0/0/2/2|Epilog error")
    assert resumed(host)[1][-1] == "lab-delft does not resume them: slurm_update error: Access denied"


def test_status_counts_nodes_that_are_out_because_of_a_fault_and_gives_the_reason_of_the_first() -> None:
    nodes = listed_nodes(
        "n1|idle|0/2/0/2|none\nn2|drng|1/0/1/2|Kill task failed\nn3|down*|0/0/2/2|Not responding\n"
        "n4|drain|0/0/2/2|maintenance\n"
    )
    assert unavailable_nodes("delft", nodes) == [
        "Cluster 'delft' has 2 of its 4 nodes drained or down, the first n2 (Slurm's reason: 'Kill task failed')."
    ]
    assert unavailable_nodes("delft", [nodes[0], nodes[3]]) == []


def test_status_tells_of_nodes_that_a_user_drained_and_how_they_are_resumed() -> None:
    nodes = listed_nodes(f"n1|{IDLE}\nn2|drain|0/0/2/2|maintenance\nn3|drain|0/0/2/2|its fan\n")
    assert drained_by_user("delft", "lab-delft", nodes) == [
        "Cluster 'delft' has 2 of its 3 nodes drained by a user, the first n2 (Slurm's reason: 'maintenance'): "
        "`docker exec lab-delft scontrol update nodename=n2,n3 state=resume` resumes them."
    ]
    assert drained_by_user("delft", "lab-delft", nodes[:1]) == []
