"""Run: ``python -m tests.bench.faults --seed N --minutes M``. Does a fault lose a job, run one twice, leave anything?

Brings a `mini` up under a name of its own and keeps a constant load of jobs on it. Faults of all kinds are drawn from
the seed (`drawing`) and made one after another, or two at once (`faults`). After each, the testbed must become well: by
itself, or by `testbed up` where a container or a network was taken away. Every few minutes the load pauses, all jobs
end, and the books are checked (`books`). Ends with 1 if anything was wrong. `--list` shows the kinds; `--only` draws
those whose names contain a word. With `--hosts N` the testbed spreads over so many Docker engines, in network
namespaces of this machine, and hosts are cut off and restarted, too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import docker

from emulator.client import BrokerClient
from emulator.model.errors import TestbedError
from emulator.model.files import FileRegistration
from emulator.model.job import JobState
from tests.bench.faults import clock
from tests.bench.faults.books import Books, errors
from tests.bench.faults.drawing import ON_ONE_HOST, ON_SEVERAL_HOSTS, Kind, Part, Places, Turn, turns
from tests.bench.faults.faults import FAULTS, MADE
from tests.bench.faults.load import FILE, Load
from tests.bench.faults.site import FaultySite, standing_over, waited_for

NAME = "faults"
ENDS_WITHIN_HOST_S = 300.0
FILE_BYTES = 500_000


@dataclass(slots=True)
class Outcome:
    """What came of a run: faults by their kind, host seconds until all was well again, and what was wrong."""

    made: Counter[str] = field(default_factory=Counter)
    host_well_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    wrong: list[str] = field(default_factory=list)
    checks: int = 0
    jobs: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Bench:
    """A standing testbed under load, in which faults are made."""

    site: FaultySite
    load: Load
    client: BrokerClient
    outcome: Outcome = field(default_factory=Outcome)
    host_began_s: float = field(default_factory=time.monotonic)

    def say(self, line: str) -> None:
        """Print a line, with the time since the beginning."""
        print(f"{time.monotonic() - self.host_began_s:7.1f} s  {line}", flush=True)

    def note_wrong(self, sentence: str) -> None:
        """Keep and print what is wrong."""
        self.outcome.wrong.append(sentence)
        self.say(f"WRONG: {sentence}")

    def make(self, turn: Turn) -> None:
        """Make the faults of a turn, end them, and wait until all is well."""
        time.sleep(turn.host_pause_s)
        shown = " with ".join(fault.shown for fault in turn.faults)
        with ExitStack() as stack:
            for fault in turn.faults:
                try:
                    stack.enter_context(MADE[fault.kind](self.site, fault))
                except (TestbedError, docker.errors.APIError) as error:
                    # The other fault of this turn has hit the same part.
                    self.say(f"not made: {fault.shown} ({error})")
                else:
                    self.outcome.made[fault.kind.name] += 1
            time.sleep(turn.host_lasts_s)
        began_s = time.monotonic()
        if turn.needs_up:
            self._mend(shown)
        if self.site.host_until_well_s() is None:
            self.note_wrong(f"Not well again after: {shown}.")
            self._mend(shown)
        host_s = time.monotonic() - began_s
        if len(turn.faults) == 1:
            self.outcome.host_well_s[turn.faults[0].kind.name].append(host_s)
        self.say(f"{shown}: well again in {host_s:.1f} s; {len(self.load.unfinished)} jobs unfinished")
        self.load.check()

    def _mend(self, shown: str) -> None:
        try:
            self.site.up()
        except TestbedError as error:
            self.note_wrong(f"`testbed up` failed after: {shown}: {error}")

    def check(self) -> None:
        """Let all jobs end, and check the books."""
        self.load.pause()
        if waited_for(lambda: not self.load.unfinished, ENDS_WITHIN_HOST_S) is None:
            left = [f"{job} {self.client.job(job).state}" for job in sorted(self.load.unfinished)]
            self.note_wrong(f"Jobs did not end within {ENDS_WITHIN_HOST_S:.0f} s: {', '.join(left)}.")
            for job in self.load.unfinished:
                self.client.cancel(job)
        jobs = self.client.jobs(0)
        sites = self.site.sites()
        events = list(self.load.events)
        books = Books(dict(self.load.accepted), jobs, events, self.site.began(), sites, self.site.wrong_links())
        for sentence in errors(books):
            self.note_wrong(sentence)
        self.outcome.checks += 1
        self.outcome.jobs = Counter(job.state.value for job in jobs)
        self.say(f"books checked: {len(jobs)} jobs, {len(events)} events, {len(self.outcome.wrong)} wrong so far")
        self.load.go_on()


def run(bench: Bench, drawn: Sequence[Kind], seed: int, host_end_s: float, every: int, host_pause_s: float) -> None:
    """Make faults until the time is over, and check the books after every so many turns and in the end."""
    nodes = {cluster.name: cluster.nodes for cluster in bench.site.topology.clusters}
    others = [] if bench.site.lab is None else [host.name for host in bench.site.lab.hosts[1:]]
    for number, turn in enumerate(turns(seed, drawn, Places(nodes, others), host_pause_s), start=1):
        if time.monotonic() > host_end_s:
            break
        bench.make(turn)
        if number % every == 0:
            bench.check()
    bench.check()


def table(outcome: Outcome) -> str:
    """Return the outcome as a table in Markdown."""
    lines = ["| fault | made | well again after, host s (median, longest) |", "|---|---|---|"]
    for kind in FAULTS:
        if outcome.made[kind.name]:
            times = sorted(outcome.host_well_s[kind.name])
            shown = f"{times[len(times) // 2]:.1f}, {times[-1]:.1f}" if times else "only with another"
            lines.append(f"| {kind.name} | {outcome.made[kind.name]} | {shown} |")
    ended = ", ".join(f"{outcome.jobs[state.value]} {state.value}" for state in JobState if state.final)
    lines.append(f"\n{outcome.made.total()} faults, {outcome.jobs.total()} jobs ({ended}), "
                 f"{outcome.checks} checks of the books, {len(outcome.wrong)} wrong.")  # fmt: skip
    return "\n".join([*lines, *outcome.wrong])


def main() -> int:
    """Bring the testbed up, make faults, print the table, and take it down; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--pause", type=float, default=4.0, help="mean host seconds between faults")
    parser.add_argument("--every", type=int, default=12, help="turns between checks of the books")
    parser.add_argument("--jobs", type=int, default=12, help="jobs that are kept unfinished")
    parser.add_argument("--only", nargs="+", default=[""], help="words of the names of the kinds to draw")
    parser.add_argument("--topology", default="mini")
    parser.add_argument("--name", default=NAME)
    parser.add_argument("--hosts", type=int, default=1, help="Docker engines to spread the testbed over")
    parser.add_argument("--journal-mbytes", type=int, default=256, help="size of the disk of the journal")
    parser.add_argument("--logs", type=Path, help="write the broker's log there in the end")
    parser.add_argument("--list", action="store_true", help="print the kinds of faults")
    options = parser.parse_args()
    drawn = [
        kind
        for kind in FAULTS
        if any(word in kind.name for word in options.only)
        and (kind.part is not Part.ALL or clock.can_be_set())
        and kind.part not in (ON_SEVERAL_HOSTS if options.hosts == 1 else ON_ONE_HOST)
    ]
    if options.list or not drawn:
        print("\n".join(kind.name for kind in FAULTS))
        return 0 if options.list else 2
    standing = standing_over(options.hosts, options.name, options.topology, options.journal_mbytes)
    with standing as site, site.api() as client:
        if any(kind.part is Part.ALL for kind in drawn):
            clock.install(site)
        processors = {cluster.name: cluster.processors for cluster in site.topology.clusters}
        client.register_file(
            FileRegistration(name=FILE, size_bytes=FILE_BYTES, sites=(site.topology.cluster_names[0],))
        )
        bench = Bench(site, Load(client, processors, options.seed, options.jobs), client)
        bench.load.begin()
        try:
            end_s = bench.host_began_s + 60.0 * options.minutes
            run(bench, drawn, options.seed, end_s, options.every, options.pause)
        finally:
            bench.load.close()
            if options.logs:
                options.logs.write_bytes(site.container("broker").logs())
    print(table(bench.outcome))
    return 1 if bench.outcome.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
