"""Find out whether a program refuses to run, and what it complains of."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

REFUSES_WITHIN_HOST_S = 5.0
"""One that runs for so long then does not refuse to: something else ended it before."""
REFUSED = 78
"""The exit status if a daemon refuses to run, by which `testbed up` knows that another start would not help."""
_SLURM = "the cluster's nodes and processors in the topology, or SLURM_CONF in images/node/cluster_start/slurm.py"
CONFIGURED_BY = {
    "munged": "prepare_munge in images/node/cluster_start/logins.py",
    "slurmctld": _SLURM,
    "slurmd": _SLURM,
    "sshd": "images/node/sshd_config",
    "arbiter": "time_sharing in the topology",
}
"""What decides how each program is configured."""
COMPLAINS = re.compile(r"\b(error|fatal)\b", re.IGNORECASE)
MOST_CHARACTERS = 200
"""What is shown of a line of a daemon."""


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
