"""A Slurm cluster behind SSH, asked in Slurm's own commands.

A claim is a job that only holds processors (`holders`): its script writes a stamped line to an events file in the
user's home when it begins and when it ends, then sleeps. One lasting `tail` carries these lines here (`slurm_events`),
so that timestamps are those of the events and nothing is polled. Programs run as job steps inside the allocation, so
Slurm's limits, accounting and `scancel` reach them.
"""

from __future__ import annotations

import logging
import shlex
import threading
import time
from collections.abc import Callable, Sequence

from emulator.clusters.holders import HOLDER, ending_all_command, ending_command, holding_command, partition_option
from emulator.clusters.nodes import ASK_NODES, shares
from emulator.clusters.passes import Admissions
from emulator.clusters.protocol import AllocationEvent, Occupancy, Part
from emulator.clusters.slurm_events import SILENT_HOST_S, WATCH, EventReader
from emulator.clusters.ssh import Completed, Program, SecureShell
from emulator.model.errors import ClaimFailed, ClusterUnreachable, NotGranted
from emulator.model.settings import BrokerSettings, Head

log = logging.getLogger(__name__)
CANCELLED_AT_ONCE = 500
COMPLETING = "CG"
"""Slurm's state of a job that has ended and whose nodes are being cleaned."""
AVAILABLE = "up"
"""Slurm's state of a partition that starts jobs."""
PASSING_REFUSALS = (
    "Required partition not available", "Unable to contact slurm controller", "Socket timed out",
    "temporarily unable to accept job",
)  # fmt: skip
"""What Slurm says where the same claim may be granted later."""
DEFAULT_PARTITION = "*"
"""Slurm's mark of the default partition."""
RECONNECT_HOST_S = (0.2, 1.0, 2.0)
RECONNECT_SOON_HOST_S = 0.5
SOON_HOST_S = 60.0
"""A cluster that was lost, or is not found yet, is tried often for so long: it may be starting."""
RECONNECT_LATER_HOST_S = 5.0
STEADY_HOST_S = 30.0
"""A connection that lasted this long ends a series of failures."""


class SlurmCluster:
    """The local resource manager of one cluster, reached at its head."""

    def __init__(self, head: Head, settings: BrokerSettings) -> None:
        self._head = head
        self._shell = SecureShell(head, settings)
        # Separate connections, so that a burst of commands never delays running programs or watched events.
        self._program_shell = SecureShell(head, settings)
        self._watch_shell = SecureShell(head, settings)
        # Ends in what no testbed's name holds: `a` must not take for its own what `a-b` claimed of the same Slurm.
        self._prefix = f"{settings.testbed}."
        self._jobs_folder = f'"$HOME"/.testbed/jobs/{shlex.quote(settings.testbed)}'
        self._partition = partition_option(head)
        self._admissions = Admissions(head.cluster, settings.testbed, self._shell) if head.real else None
        self._closing = threading.Event()
        self._events = EventReader(head.cluster, self._prefix)

    @property
    def malformed_events(self) -> int:
        """The number of lines of the events file that are no events, and were skipped."""
        return self._events.malformed

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self._head.cluster

    @property
    def address(self) -> str:
        """Address of the head."""
        return self._head.address

    def occupancy(self) -> Occupancy:
        """Return processors and nodes of the partition that Slurm would use now; drained and dead ones are not idle."""
        nodes, processors, idle = 0, 0, 0
        for line in self._checked(f'sinfo -h{self._partition} -o "%P %a %D %C"').output.splitlines():
            partition, available, count, states = line.split()
            if not self._head.partition and not partition.endswith(DEFAULT_PARTITION):
                continue
            counts = [int(number) for number in states.split("/")]
            nodes, processors = nodes + int(count), processors + counts[3]
            # A partition that is down, drained or inactive starts no job on its idle nodes.
            idle += counts[1] if available == AVAILABLE else 0
        most = self._head.processors or processors
        return Occupancy(nodes, min(processors, most), min(idle, most), self._unusable_nodes())

    def _unusable_nodes(self) -> frozenset[str]:
        """Return the nodes that take no task, where a policy chooses nodes."""
        if not self._head.spreads:
            return frozenset()
        listed = self._checked(f"sinfo -h{self._partition} -N -t drain,down,fail,maint,no_respond -o %N").output
        return frozenset(listed.split())

    def claim(self, claim: str, processors: int, nodes: Sequence[str] = (), memory_mb: float = 0.0) -> str:
        """Queue a holder for `processors` tasks; its identity is Slurm's job number."""
        command = holding_command(self._head, self._prefix + claim, processors, nodes, memory_mb)
        completed = self._shell.execute(command, HOLDER)
        if completed.exit_code != 0:
            reason = f"Cluster {self.cluster!r} refused {processors} processors: {_last_line(completed.error)}."
            if any(passing in completed.error for passing in PASSING_REFUSALS):
                raise NotGranted(reason, self.cluster)
            raise ClaimFailed(reason)
        return completed.output.strip().split(";")[0]

    def part(self, allocation: str, processors: int) -> Part:
        """Return where the processors of an allocation are; ask the head for their nodes if that matters."""
        head = self._head
        if not (head.real or head.spreads):
            return Part(head.address, allocation, processors)
        listed = self._checked(ASK_NODES.format(allocation=shlex.quote(allocation))).output
        nodes = shares(listed, processors, self.cluster)
        if not head.real:
            return Part(head.address, allocation, processors, nodes)
        return Part(
            head.address,
            allocation,
            processors,
            nodes,
            login=("-p", str(head.port), f"{head.user}@{head.address}"),
            setup=head.setup,
            message_range=head.message_range,
        )

    def release(self, allocation: str) -> None:
        """Cancel the holder; Slurm ends every step of the allocation with it.

        Cancelling a job that Slurm has forgotten fails, so then Slurm is asked whether it still lists the job.
        """
        cancelled = self._shell.execute(f"scancel --quiet {shlex.quote(allocation)}")
        if cancelled.exit_code != 0 and allocation in self.allocations():
            reason = _last_line(cancelled.error)
            raise ClusterUnreachable(f"Cluster {self.cluster!r}: allocation {allocation} is not released: {reason}.")

    def allocations(self) -> dict[str, str]:
        """Get the claims of the jobs of this user whose name begins with the testbed's, by the jobs' numbers.

        A job that Slurm is ending holds nothing that could be released.
        """
        listed = [line.split() for line in self._checked("squeue -h --me -o '%i %j %t'").output.splitlines()]
        return {
            words[0]: words[1].removeprefix(self._prefix)
            for words in listed
            if len(words) == 3 and words[1].startswith(self._prefix) and words[2] != COMPLETING
        }

    def forget(self, claim: str) -> None:
        """End the holder of a claim that Slurm has forgotten, as it does if it is killed before it saves its state."""
        if not self._head.real:
            self._shell.execute(ending_command(self._prefix + claim))

    def release_all(self) -> None:
        """Cancel every job of this user whose name begins with the testbed's, and check that none is left.

        Before that, keys that a former broker admitted are removed.
        """
        if self._admissions is not None:
            self._admissions.dismiss_all()
        if not self._head.real:
            self._shell.execute(ending_all_command(self._prefix))
        own = list(self.allocations())
        for first in range(0, len(own), CANCELLED_AT_ONCE):
            self._shell.execute(shlex.join(["scancel", "--quiet", *own[first : first + CANCELLED_AT_ONCE]]))
        left = self.allocations() if own else {}
        if left:
            raise ClusterUnreachable(f"Cluster {self.cluster!r} still holds {', '.join(sorted(left)[:5])} for us.")

    def admit(self, use: str, public_key: str) -> None:
        """Let a key in at a real head; the containers' own key opens a container."""
        if self._admissions is not None:
            self._admissions.admit(use, public_key)

    def dismiss(self, use: str) -> None:
        """No longer let in the key of `use`."""
        if self._admissions is not None:
            self._admissions.dismiss(use)

    def start(self, script: str, allocation: str, label: str, processes: int = 0) -> Program:
        """Run `script` as a step of the allocation; srun passes its standard input on to every process.

        Its files lie in ``~/.testbed/jobs/TESTBED``, because an account may serve several testbeds.

        Processes are spread over the nodes as the allocation's processors are; if one fails, the others end.
        """
        tasks = f"--ntasks={processes} --kill-on-bad-exit=1" if processes else "--nodes=1 --ntasks=1"
        folder = f"{self._jobs_folder}/{shlex.quote(label)}"
        prepared = f"{self._head.setup}\n{script}" if self._head.setup else script
        command = (
            f"(umask 077 && mkdir -p {folder} && head -c {len(prepared.encode())} > {folder}/start) && "
            f"exec srun --jobid={shlex.quote(allocation)} --overlap {tasks} --mpi=none --chdir={folder} "
            f"--job-name=ranks bash {folder}/start"
        )
        return self._program_shell.open_program(command, prepared, stays_open=True)

    def watch(self, on_event: Callable[[AllocationEvent], None], on_reachable: Callable[[bool, str], None]) -> None:
        """Follow the events file on a thread of its own until `close`."""
        thread = threading.Thread(
            target=self._follow, args=(on_event, on_reachable), name=f"watch-{self.cluster}", daemon=True
        )
        thread.start()

    def close(self) -> None:
        """Stop following and hang up."""
        self._closing.set()
        for shell in (self._watch_shell, self._program_shell, self._shell):
            shell.close()

    def _follow(self, on_event: Callable[[AllocationEvent], None], on_reachable: Callable[[bool, str], None]) -> None:
        failures, reachable, lost_host_s = 0, False, time.monotonic()
        while not self._closing.is_set():
            try:
                stream, begun_host_s = self._watch_shell.open_program(WATCH, script=None), time.monotonic()
                if not reachable:
                    self._announce(stream, on_reachable)
                    reachable, failures = True, 0
                self._read_events(stream, on_event)
                # The connection to a head that died behind a jump host looks alive.
                self._watch_shell.close()
                failures = 0 if time.monotonic() - begun_host_s > STEADY_HOST_S else failures
                reason = f"Cluster {self.cluster!r} closed the connection that carries its events."
            except ClusterUnreachable as error:
                reason = str(error)
            except Exception as error:
                # A watcher that ended here would never find its cluster again.
                log.exception("cluster %s could not be followed", self.cluster)
                reason = f"Cluster {self.cluster!r} could not be followed ({error!r})."
            if self._closing.is_set():
                return
            if failures == len(RECONNECT_HOST_S) and reachable:
                reachable, lost_host_s = False, time.monotonic()
                self._program_shell.close()
                self._shell.close()
                on_reachable(False, reason)
            pause_host_s = _pause_host_s(failures, time.monotonic() - lost_host_s, reachable=reachable)
            failures = min(failures + 1, len(RECONNECT_HOST_S))
            self._closing.wait(pause_host_s)

    def _announce(self, stream: Program, on_reachable: Callable[[bool, str], None]) -> None:
        """Report that the cluster was found; if it is lost again meanwhile, it counts as not found."""
        try:
            on_reachable(True, "")
        except ClusterUnreachable:
            stream.close()
            raise
        except Exception as error:
            # Any other error would end this watcher, and the cluster would never be found again.
            log.exception("cluster %s was found, which could not be acted upon", self.cluster)
            stream.close()
            raise ClusterUnreachable(f"Cluster {self.cluster!r} could not be taken up ({error!r}).") from error

    def _read_events(self, stream: Program, on_event: Callable[[AllocationEvent], None]) -> None:
        # Of a head that is reached directly, TCP notices the death; one that stands still may go on.
        for line in stream.lines(SILENT_HOST_S if self._head.jumps else None):
            event = self._events.read(line)
            if event is not None:
                on_event(event)

    def _checked(self, command: str) -> Completed:
        completed = self._shell.execute(command)
        if completed.exit_code != 0:
            raise ClusterUnreachable(
                f"Cluster {self.cluster!r}: {command.split()[0]} failed: {_last_line(completed.error)}."
            )
        return completed


def _pause_host_s(failures: int, host_lost_for_s: float, *, reachable: bool) -> float:
    """Return how long to wait before the next connection, after that many failures in a row."""
    if reachable and failures < len(RECONNECT_HOST_S):
        return RECONNECT_HOST_S[failures]
    return RECONNECT_SOON_HOST_S if host_lost_for_s < SOON_HOST_S else RECONNECT_LATER_HOST_S


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].rstrip(".") if lines else "it gave no reason"
