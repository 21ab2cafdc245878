"""The thresholds of verdicts, each with its reason; docs/fidelity.md repeats them as a table.

Most measures bound the relative error of a time that the testbed reports, so that one pair of thresholds serves them
all. The others say that the host did not offer what a run needs, without a bound on the error of the run's times: they
make a result suspect and never void.
"""

from __future__ import annotations

from typing import Final

from emulator.model.link_queues import LEAST_TIMEOUT_S

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

The lateness itself shows how much time was lost. But if most phases cannot end in time, the host's cores are contended,
and no lateness shows what contention costs the messages between phases. If all messages are paced, contention costs
them nothing: a rank's emulated time follows from the timestamps on its messages, and it makes up for a late phase in
its next sleep. Then the share says nothing and is not judged. Late paced messages are not judged either: their receiver
goes on from their timestamp, and if it must send a message that is not paced, the lateness of that one is judged.
"""

SUSPECT_OTHER_CPU: Final = 0.10
"""Above this share of all processors used by anything but the testbed, where tasks waited for one, a job is suspect.

A rank that wakes on a taken processor waits for some milliseconds or shares it, and so do messages under way; no
lateness shows that. An idle desktop, the container engine and this command together use a few percent.
"""

SUSPECT_STOLEN: Final = 0.10
"""Above this share of all processors taken by a hypervisor a job is suspect, as with other work.

This bounds no error: nothing is lost while paced processors sleep, and lateness is measured itself. With half of the
wanted CPU time stolen, jobs in one cluster took as long as with a twentieth stolen.
"""

SUSPECT_STOLEN_CROSSING: Final = 0.05
"""The same for a job over several clusters: its messages wait for the processor in queues that show no lateness.

With 7% of the processors taken, jobs over two clusters were seen to take 5% too long.
"""

CONTENDED: Final = 0.05
"""If tasks waited for a processor for less than this share of the time, the host had processors to spare.

Then other work does not matter. If the kernel does not count this waiting, the host is assumed to be contended.
"""

SUSPECT_CPU_PRESSURE: Final = 0.60
"""Above this share of the time in which some task waited for a processor, a job is suspect; the cause does not matter.

Ranks that wake together wait for each other, on two cores for up to half of the time; lateness shows the cost of that.
Above this share, almost every message finds its receiver's processor busy.
"""

SUSPECT_MEMORY_PRESSURE: Final = 0.01
"""Above this share of the time in which some task waited for memory, a job is suspect.

A rank whose pages the kernel takes back stops until they are read again. With memory to spare, nothing waits.
"""

LEAST_MEMORY: Final = 0.05
"""Below this share of the host's memory available, a job is suspect: the kernel is about to take pages of programs."""

SUSPECT_SWAPPED_PAGES_PER_S: Final = 256.0
"""Above this many pages (1 MB) swapped in or out a second a job is suspect: some of them may be its ranks'."""

SUSPECT_IO_PRESSURE: Final = 0.10
"""Above this share of the time in which some task waited for a disk, a job is suspect.

The broker's journal and the run's records are then written late, and with them decisions come late. A run's own writing
takes less than one percent; ranks write nothing. A single program that syncs all its writes reaches a half.
"""

SUSPECT_HOST_WRITE_S: Final = 1.0
"""Above this many host seconds for one line of the records to reach the disk, a job is suspect.

The broker's journal writes a line before each step of a job; so slow a disk delays each step by as much.
"""

TIMEOUT_S: Final = LEAST_TIMEOUT_S
"""The emulated seconds by which a TCP timeout may have delayed a rank: the least wait before a retransmission.

It dilates as the network does, so timeouts after a full access link dropped a packet belong to the emulated network.
The number of other timeouts, times this, bounds what they added to a job's runtime.
"""

SUSPECT_DATAGRAMS: Final = 0.01
"""Above this many datagrams of UDP per segment of TCP a job over several clusters is suspect.

No job sends any: other traffic used its links, and may have caused drops or delays that the topology does not state.
"""

SUSPECT_STRANGERS: Final = 0.01
"""Above this share of an access link taken by traffic of others, a job over several clusters is suspect.

While a stranger's stream lasts, each message waits for the stream's packets, and these may fill the link's queue. A
stream that takes some share of the link for half of the time may cost the job that share of its whole time. Above
`VOID_ERROR` the job is void, as if the link's rate were wrong by as much.
"""

SUSPECT_MISSING_TRAFFIC: Final = 0.02
"""Above this share of the background traffic that was asked for and not sent, a run under it is suspect."""

LEAST_SHARE_IN_BAND: Final = 0.95
"""Below this share of the time with its background load in its band, after the first minute, a run is suspect.

It is void if the load was above the band for longer than its campaign allows while no dummy job was left to be killed:
"Communication-Aware Job Placement Policies", section 5, repeated such a run.
"""
