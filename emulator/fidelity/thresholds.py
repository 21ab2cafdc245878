"""What a verdict follows: every threshold, each with its reason; docs/fidelity.md repeats them as a table.

Most measures bound the relative error of a time that the testbed reports, so that one pair of thresholds serves them
all. The others say that the host, or something on it, was not as a run needs it, without saying what that did to the
run's times: they make it suspect and never void.
"""

from __future__ import annotations

from typing import Final

SUSPECT_ERROR: Final = 0.03
"""Above this bound on the relative error of a time, the time is suspect.

Three percent is the tolerance to which links are verified, and the difference between measurements at K and 2K above
which one of them must be wrong.
"""

VOID_ERROR: Final = 0.10
"""Above this bound on the relative error of a time, the time is void.

The published extension factors that matter lie between 1.05 and 1.25: an error of a tenth can turn one into another.
"""

SUSPECT_LATE_PHASES: Final = 0.5
"""Above this share of late phases a job is suspect, however little they were late, where lateness adds up.

How much time was lost is judged by the lateness itself. But where most phases cannot end in time, the host's cores are
contended, and what contention costs the messages between phases shows in no lateness. Where all messages are paced it
costs them nothing: a rank's moment follows from the stamps on its messages, and it makes up for a late phase in its
next sleep. There the share says nothing, and is not judged. Nor is how many paced messages came late anywhere: whoever
receives one goes on from its stamp, and if it has to send into the host's time, how late it does is judged.
"""

SUSPECT_OVERHEAD: Final = 0.05
"""Above this share of the time from placement to start, middleware slower than stated makes a job suspect.

It lengthens wait and response times, which queueing dominates, and no execution time: hence more than `SUSPECT_ERROR`.
"""

SUSPECT_OTHER_CPU: Final = 0.10
"""Above this share of all processors used by anything but the testbed, where tasks waited for one, a job is suspect.

A rank that wakes to find its processor taken waits for some milliseconds or shares it, and so do messages on their way,
which no lateness shows. A desktop at rest, the engine and this command together use a few percent.
"""

SUSPECT_STOLEN: Final = 0.10
"""Above this share of all processors taken by a hypervisor a job is suspect, as with other work.

It is no bound on an error: while paced processors sleep nothing is lost, and what is late says so itself. With half of
the CPU time that was wanted stolen, jobs in one cluster took what they took with a twentieth.
"""

SUSPECT_STOLEN_CROSSING: Final = 0.05
"""The same for a job over several clusters: its messages wait for the processor in queues that show no lateness.

With 7% of the processors taken, jobs over two clusters were seen to take 5% too long.
"""

CONTENDED: Final = 0.05
"""Where some task waited for a processor for less than this share of the time, the host had some to spare.

Then it does not matter what else ran on it. Where the kernel does not count it, there is no telling that it had.
"""

SUSPECT_CPU_PRESSURE: Final = 0.60
"""Above this share of the time in which some task waited for a processor, a job is suspect, whoever caused it.

Ranks that wake together wait for each other, on two cores for up to half of the time, and lateness says what that
costs. Above this share hardly a message finds its receiver's processor idle.
"""

SUSPECT_MEMORY_PRESSURE: Final = 0.01
"""Above this share of the time in which some task waited for memory, a job is suspect.

A rank whose pages the kernel takes back stands still until they are read again. With memory to spare, nothing waits.
"""

LEAST_MEMORY: Final = 0.05
"""Below this share of the host's memory available, a job is suspect: the kernel is about to take pages of programs."""

SUSPECT_SWAPPED_PAGES_PER_S: Final = 256.0
"""Above this many pages (1 MB) swapped in or out a second a job is suspect: some of them may be its ranks'."""

SUSPECT_IO_PRESSURE: Final = 0.10
"""Above this share of the time in which some task waited for a disk, a job is suspect.

The broker's journal and the run's records are then written late, and with them decisions come late. A run's own writing
takes less than one percent; ranks write nothing. A single program that syncs whatever it writes reaches a half.
"""

SUSPECT_HOST_WRITE_S: Final = 1.0
"""Above this many host seconds for one line of the records to reach the disk, a job is suspect.

The broker's journal writes a line before each step of a job; a disk as slow delays each of them by as much.
"""

TIMEOUT_S: Final = 0.2
"""What a timeout of TCP may have held up a rank for, emulated: the least that it waits before it sends again.

It dilates as the network does, so that timeouts after a full access link dropped a packet are those of the emulated
network. So many others as a job saw, times this, bound what they added to its runtime.
"""

SUSPECT_DATAGRAMS: Final = 0.01
"""Above this many datagrams of UDP per segment of TCP a job over several clusters is suspect.

No job sends any: somebody else used its links, and whatever that made them drop or delay was not asked for.
"""

BACKGROUND_OUTSIDE_S: Final = 60.0
"""More than this many emulated seconds with the background load outside its band make a run void.

"Communication-Aware Job Placement Policies", section 5: such a run was repeated.
"""
