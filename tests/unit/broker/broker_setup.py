"""A broker over two scripted clusters, and common steps of its tests."""

from __future__ import annotations

import json
import time

from emulator.broker.service import Broker
from emulator.broker.state.journal import Journal
from emulator.model.documents import parse_document
from emulator.model.files import FileRegistration
from emulator.model.job import JobSpecification, JobState
from emulator.model.settings import BrokerSettings, Head
from emulator.model.topology import Topology
from emulator.model.views import EventKind, RunRequest, Submission
from emulator.policies.decisions import recorded_decision
from emulator.policies.factory import deciders
from emulator.policies.replay import replay
from tests.unit.broker.scripted_cluster import ScriptedCluster
from tests.unit.broker.simulated_file_servers import SimulatedFileServer, file_servers

TOPOLOGY = """
name: two
processor: {name: p, in_cache_ns_per_point: 100, out_of_cache_ns_per_point: 200, cache_bytes: 1000}
middleware: {base_s: 5, per_component_s: 1}
clusters:
  - {name: east, nodes: 4, access_link: {up_mbit: 10, down_mbit: 10}}
  - {name: west, nodes: 4, access_link: {up_mbit: 10, down_mbit: 10}}
default_link: {delay_s: 0.001}
"""
PATIENCE_HOST_S = 60.0
"""How long a test waits for a condition; on a busy host it may take that long."""

SIZE_BYTES = 1_250_000
"""The bytes of one second at the 10 Mbit/s that the topology states."""


class BrokerSetup:
    """A broker over two scripted clusters of 8 processors."""

    stated = TOPOLOGY

    def __init__(self, folder, journal: Journal | None = None, **more) -> None:
        settings = BrokerSettings(
            testbed="t",
            topology_file=folder,
            token_file=folder,
            key_file=folder,
            known_hosts_file=folder,
            journal_file=folder / "journal",
            heads=tuple(Head(cluster=name, address=name) for name in ("east", "west")),
            **more,
        )
        self.east, self.west = ScriptedCluster("east", 8), ScriptedCluster("west", 8)
        self.journal = journal or Journal(folder / "journal")
        self.topology = parse_document(self.stated, Topology, source="two")
        self.broker = self.make_broker(self.topology, [self.east, self.west], settings, self.journal)
        self.broker.open()
        self.until(lambda: not self.broker.unreachable())

    def make_broker(self, *arguments) -> Broker:
        return Broker(*arguments)

    def close(self) -> None:
        self.broker.close()
        self.journal.close()

    def until(self, condition) -> None:
        deadline = time.monotonic() + PATIENCE_HOST_S
        while not condition():
            assert time.monotonic() < deadline, f"the condition did not hold within {PATIENCE_HOST_S:g} s"
            time.sleep(0.005)

    def submit(self, *components: int, run: int = 0, **more) -> int:
        specification = JobSpecification(**({"application": "poisson", "components": components} | more))
        return self.broker.submit(Submission(specification=specification, run=run)).id

    def until_state(self, job: int, state: JobState) -> None:
        self.until(lambda: self.broker.job(job).state is state)

    def started(self, job: int, on: ScriptedCluster) -> None:
        self.until_state(job, JobState.STARTING)
        # The program starts after the record that it may have started.
        self.until(lambda: on.programs and not on.programs[-1].has_begun)
        on.programs[-1].say(event="started", host_moment_s=time.time(), host_late_s=0.25, processes=8)
        self.until_state(job, JobState.RUNNING)

    def read_clusters(self) -> None:
        """Have every cluster read now, as decisions do."""
        readings = self.broker._scheduling.readings
        readings.await_round(self.broker._loop.call(readings.ask))

    def kinds(self, run: int = 0) -> list[EventKind]:
        return [event.kind for event in self.journal.read(run, 0) if event.kind is not EventKind.DECISION]

    @property
    def nothing_is_held(self) -> bool:
        return not self.east.held and not self.west.held


def one_of_each(setup: BrokerSetup) -> None:
    """A job that finishes, one whose claim fails, one that is cancelled."""
    finished = setup.submit(8)
    setup.started(finished, setup.east)
    setup.east.programs[-1].finish()
    setup.until_state(finished, JobState.FINISHED)
    setup.east.refuses = setup.west.refuses = True
    setup.until_state(setup.submit(8), JobState.FAILED)
    setup.east.refuses = setup.west.refuses = False
    cancelled = setup.submit(8)
    setup.until(lambda: setup.broker.job(cancelled).components)
    setup.started(cancelled, setup.east if setup.broker.job(cancelled).components[0].cluster == "east" else setup.west)
    setup.broker.cancel(cancelled)
    setup.until_state(cancelled, JobState.CANCELLED)


class BrokerSetupWithFiles(BrokerSetup):
    """A broker over two scripted clusters, each with a simulated file server."""

    def make_broker(self, *arguments) -> Broker:
        self.files: dict[str, SimulatedFileServer] = {server.site: server for server in file_servers("east", "west")}
        return Broker(*arguments, list(self.files.values()))

    def register(self, name: str = "input", *sites: str):
        registration = FileRegistration(name=name, size_bytes=SIZE_BYTES, sites=sites or ("east",))
        return self.broker.files.register(registration)

    def replicas(self, name: str = "input") -> dict[str, int]:
        return {replica.site: replica.users for replica in self.broker.files.file(name).replicas}

    def begin(self, **request) -> int:
        run = self.broker.begin_run(RunRequest(name="files", **request)).id
        self.broker.start_run(run)
        return run


def begin_fast_run(setup: BrokerSetup, **stated) -> int:
    """Start a run in which an emulated second takes little time."""
    request = RunRequest(**({"name": "r", "dilation": 0.02, "paced_middleware": False} | stated))
    run = setup.broker.begin_run(request).id
    setup.broker.start_run(run)
    return run


def recorded_decisions(setup: BrokerSetup, run: int):
    events = [event for event in setup.journal.read(run, 0) if event.kind is EventKind.DECISION]
    return [recorded_decision(json.loads(json.dumps(event.detail))) for event in events]


def recorded_request(setup: BrokerSetup, run: int) -> RunRequest:
    started = next(event for event in setup.journal.read(run, 0) if event.kind is EventKind.RUN_STARTED)
    return RunRequest.model_validate(started.detail["request"])


def finish_all(setup: BrokerSetup, jobs: list[int]) -> None:
    """End each job as soon as it has started."""
    done: set[int] = set()

    def all_ended() -> bool:
        for cluster in (setup.east, setup.west):
            for program in cluster.programs:
                if id(program) not in done:
                    done.add(id(program))
                    program.finish()
        return all(setup.broker.job(job).state.final for job in jobs)

    setup.until(all_ended)


def kill(setup: BrokerSetup) -> None:
    """Stop the broker at once, without releasing any allocation."""
    for cluster in (setup.east, setup.west):
        cluster.silent = True
    setup.broker._loop.close()
    setup.journal.close()


def check_replay(journal: Journal, run: int, request: RunRequest) -> None:
    """Replay the decisions of `run` and assert that none differs."""
    decisions = [recorded_decision(event.detail) for event in journal.read(run, 0) if event.kind is EventKind.DECISION]
    made = deciders(request.queue, request.policy, request.scanning, request.seed, quota=request.quota)
    assert replay(decisions, made, [8, 8]).differences == ()
