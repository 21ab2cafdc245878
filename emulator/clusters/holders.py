"""Holders: the processes that only hold processors for a claim, and the shell commands that begin and end them.

At a cluster of the testbed a holder runs at the head, beside its allocation. At a real head, where a user's processes
may not stay, it is a batch job. Either way it notes in the events file when it begins and when it ends.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import Final

from emulator.clusters.slurm_events import FOLDER
from emulator.model.settings import Head

HOLDER: Final = f"""#!/bin/sh
note() {{ printf '%s %s %s %s\\n' "$1" "$(date +%s.%N)" "$SLURM_JOB_NAME" "$SLURM_JOB_ID" >> {FOLDER}/events; }}
end() {{
    note ended
    read -r parent < /proc/$PPID/comm && [ "$parent" = salloc ] && kill -KILL $PPID
    exit 0
}}
trap end TERM INT HUP
note claimed
sleep infinity &
wait
note ended
"""
"""The script of a holder, which the commands that begin one read from their standard input.

A holder that Slurm ends also ends its `salloc`. One that hears twice of its job's end waits in a busy loop, for ever,
for a command that has ended (Slurm 22.05).
"""

_HOLD_AT_ONCE: Final = """holder=$(cat) && said=$(mktemp -p /dev/shm) || exit
setsid salloc --kill-command=TERM {wanted} sh -c "$holder" < /dev/null > /dev/null 2> "$said" &
until grep -q "job allocation" "$said"; do kill -0 $! 2> /dev/null || break; sleep 0.01; done
sed -n 's/.* job allocation \\([0-9]*\\)$/\\1/p' "$said" | head -n 1 | grep . || {{ cat "$said" >&2; false; }}
held=$?; rm -f "$said"; exit $held
"""
_END: Final = """for pid in $(pgrep -u "$(id -u)" -x salloc); do
    name=$(tr '\\0' '\\n' < /proc/$pid/cmdline | sed -n 's/^--job-name=//p')
    case $name in {pattern}) pkill -s $pid ;; esac
done
true
"""


def holding_command(head: Head, name: str, processors: int, nodes: Sequence[str] = (), memory_mb: float = 0.0) -> str:
    """Return what begins a holder called `name`, whose script it reads, and prints Slurm's number of its job.

    It gets one processor on each of `nodes`, if these are named, and `memory_mb` for each where memory counts.

    Slurm grants an allocation at once if it can, and schedules a batch job within a second only. What it says goes
    to memory, so that a full disk does not hide it.
    """
    wanted = f"--job-name={shlex.quote(name)} --ntasks={processors} --cpus-per-task=1 --chdir=/tmp"
    wanted += partition_option(head)
    if nodes:
        wanted += f" --nodes={len(nodes)} --ntasks-per-node=1 --nodelist={shlex.quote(','.join(nodes))}"
    elif head.spreads:
        wanted += f" --nodes=1-{processors}"
    if head.counts_memory and memory_mb > 0:
        wanted += f" --mem-per-cpu={math.ceil(memory_mb)}M"
    if not head.real:
        return _HOLD_AT_ONCE.format(wanted=wanted)
    return " ".join(
        [f"sbatch --parsable {wanted} --output=/dev/null --error=/dev/null", *map(shlex.quote, head.sbatch)]
    )


def ending_command(name: str) -> str:
    """Return what ends the holder called `name` at this head, if it is there, and with it what it holds.

    Slurm forgets an allocation if it is killed soon after it made one, and then never tells the holder.
    """
    return _END.format(pattern=shlex.quote(name))


def ending_all_command(prefix: str) -> str:
    """Return what ends every holder at this head whose name begins with `prefix`, and with it what it holds."""
    return _END.format(pattern=f"{shlex.quote(prefix)}*")


def partition_option(head: Head) -> str:
    """Return the option, with a space before it, that names the partition of a head; empty for Slurm's default."""
    return f" --partition={shlex.quote(head.partition)}" if head.partition else ""
