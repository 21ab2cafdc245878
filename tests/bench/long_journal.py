"""How long a broker takes to start on a journal of many finished jobs, and how much memory it then has.

Run it as ``python -m tests.bench.long_journal [JOBS] [FOLDER]``. It writes the journal once, starts a broker on it in a
process of its own, and prints one JSON object: `jobs`, `journal_bytes`, `import_s` (host seconds until the program is
loaded), `start_s` (until the broker has its runs, its metrics and one page of jobs, too) and `resident_bytes`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from emulator.broker.http.metrics import CHECKPOINT, Metrics
from emulator.broker.state.journal import Journal
from emulator.model.clock import REAL_TIME, EmulatedClock
from emulator.model.documents import parse_document
from emulator.model.job import JobSpecification, JobState
from emulator.model.topology import Topology
from emulator.model.views import DEFAULT_RUN, DEFAULT_RUN_REQUEST, ComponentView, EventKind, EventView, JobView
from emulator.policies.decisions import Decision, decision_record
from emulator.policies.factory import deciders
from emulator.policies.protocols import Scan
from tests.unit.broker.broker_setup import TOPOLOGY

JOBS = 1_000_000
LIFE = (
    (EventKind.SUBMITTED, JobState.QUEUED),
    (EventKind.PLACED, JobState.CLAIMING),
    (EventKind.COMPONENT_CLAIMED, JobState.CLAIMING),
    (EventKind.CLAIMED, JobState.STARTING),
    (EventKind.STARTED, JobState.RUNNING),
    (EventKind.FINISHED, JobState.FINISHED),
)
TOGETHER = 50_000
RECENT_EVENTS = 4_900
"""A thousand decisions are about five hundred jobs; the counters have a checkpoint every five thousand events."""


def events_of(job: int, first_sequence: int) -> Iterator[tuple[int, int, int, str]]:
    """Yield the rows of a finished job's events."""
    view = JobView(
        id=job,
        run=DEFAULT_RUN,
        specification=JobSpecification(application="poisson", components=(4,)),
        state=JobState.FINISHED,
        placement_tries=1,
        components=(ComponentView(cluster="east", processors=4, allocation=str(job), claimed_s=3.0),),
        submitted_s=1.0,
        placed_s=2.0,
        claimed_s=3.0,
        started_s=4.0,
        finished_s=9.0,
        released_s=9.5,
        exit_code=0,
        result={"runtime_s": 5.0},
    )
    for number, (kind, state) in enumerate(LIFE):
        event = EventView(
            sequence=first_sequence + number,
            run=DEFAULT_RUN,
            kind=kind,
            time_s=float(number),
            host_moment_s=0.0,
            job=view.model_copy(update={"state": state}),
        )
        yield event.sequence, DEFAULT_RUN, job, event.model_dump_json()


def write_journal(path: Path, jobs: int) -> None:
    """Write a journal of `jobs` finished jobs; the last snapshot and checkpoint are as old as they are at most."""
    journal = Journal(path)
    journal.store_run(DEFAULT_RUN, DEFAULT_RUN_REQUEST)
    journal.store_origin(DEFAULT_RUN, EmulatedClock.starting_now(REAL_TIME))
    pattern = list(events_of(1, 1))
    database, sequence = journal._database, 0
    snapshot_at = max(1, jobs - RECENT_EVENTS // len(LIFE))
    for first in range(1, jobs + 1, TOGETHER):
        database.execute("BEGIN")
        for job in range(first, min(first + TOGETHER, jobs + 1)):
            rows = [
                (number, DEFAULT_RUN, job, _renumbered(body, job, number))
                for number, (_, _, _, body) in enumerate(pattern, start=sequence + 1)
            ]
            sequence += len(rows)
            database.executemany("INSERT INTO events (sequence, run, job, body) VALUES (?, ?, ?, ?)", rows)
            database.execute("INSERT INTO jobs VALUES (?, ?, ?, 1)", (job, DEFAULT_RUN, sequence))
            if job == snapshot_at:
                sequence += 1
                body = _decision(sequence).model_dump_json()
                database.execute("INSERT INTO events VALUES (?, ?, NULL, ?)", (sequence, DEFAULT_RUN, body))
        database.execute("COMMIT")
    topology = parse_document(TOPOLOGY, Topology, source="two")
    stored = Metrics(topology, Journal(path.with_name("empty")))._counters.totals.stored()
    journal.store_checkpoint(CHECKPOINT, max(0, sequence - RECENT_EVENTS), stored)
    journal.close()


def _decision(sequence: int) -> EventView:
    """Return a decision with a snapshot, as there is one every thousand decisions."""
    request = DEFAULT_RUN_REQUEST
    made = deciders(request.queue, request.policy, request.scanning, request.seed, quota=request.quota)
    decision = Decision(0, 1.0, Scan(), (8, 8), (), 0, snapshot=made.snapshot())
    detail = decision_record(decision)
    return EventView(
        sequence=sequence, run=DEFAULT_RUN, kind=EventKind.DECISION, time_s=1.0, host_moment_s=0.0, detail=detail
    )


def _renumbered(body: str, job: int, sequence: int) -> str:
    """Return an event's text with other numbers, which is quicker than making the event."""
    _, _, rest = body.partition(",")
    return f'{{"sequence":{sequence},{rest}'.replace('"job":{"id":1,', f'"job":{{"id":{job},', 1)


PROGRAM = """
import json, resource, sys, time
from pathlib import Path
from tests.bench.broker_program import FullCluster
from emulator.broker.http.api import create_app
from emulator.broker.service import Broker
from emulator.broker.state.journal import Journal
from emulator.model.documents import parse_document
from emulator.model.settings import BrokerSettings, Head
from emulator.model.topology import Topology
from tests.unit.broker.broker_setup import TOPOLOGY

loaded_s = time.monotonic() - float(sys.argv[3])
path = Path(sys.argv[1])
topology = parse_document(TOPOLOGY, Topology, source="two")
heads = tuple(Head(cluster=name, address=name) for name in topology.cluster_names)
files = dict.fromkeys(("topology_file", "token_file", "key_file", "known_hosts_file"), path)
settings = BrokerSettings(testbed="t", heads=heads, journal_file=path, **files)
journal = Journal(path)
broker = Broker(topology, [FullCluster(name) for name in topology.cluster_names], settings, journal)
create_app(broker, journal, "token")
broker.open()
while broker.is_recovering():
    time.sleep(0.01)
assert len(broker.jobs(None, after=10, limit=1000)) == min(1000, int(sys.argv[2]) - 10)
resident_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"import_s": round(loaded_s, 2), "resident_bytes": resident_bytes}), flush=True)
broker.close()
"""


def measure(path: Path, jobs: int) -> dict[str, float]:
    """Start a broker on the journal at `path`; returns what it took."""
    began_s = time.monotonic()
    words = [sys.executable, "-c", PROGRAM, str(path), str(jobs), str(began_s)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as broker:
        said = json.loads(broker.stdout.readline() if broker.stdout else "{}")
        start_s = time.monotonic() - began_s
    return {"jobs": jobs, "journal_bytes": path.stat().st_size, "start_s": round(start_s, 2), **said}


def main(jobs: int, folder: Path) -> None:
    """Write the journal in `folder` unless it is there, and measure."""
    path = folder / f"journal-{jobs}"
    if not path.exists():
        write_journal(path, jobs)
    print(json.dumps(measure(path, jobs)))


if __name__ == "__main__":
    how_many = int(sys.argv[1]) if len(sys.argv) > 1 else JOBS
    if len(sys.argv) > 2:
        main(how_many, Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(how_many, Path(temporary))
