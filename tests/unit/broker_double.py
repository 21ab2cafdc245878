"""A test double of the broker's API without clusters, for tests of how runs handle events.

`BrokerDouble` serves the real API over real HTTP. It places jobs at once on the first clusters, and they finish one
after another. The real broker is tested on real containers.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from emulator.client import BrokerClient
from emulator.containers.wan.controls import Control
from emulator.containers.wan.traffic import TrafficLoad
from emulator.model.catalogue import topology_named
from emulator.model.clock import REAL_TIME, Dilation
from emulator.model.evidence import LinkCheck
from emulator.model.files import FileRegistration, FileView, ReplicaView
from emulator.model.job import JobState
from emulator.model.proof import PROOF_PATH, proof_of
from emulator.model.records import LinkRow
from emulator.model.traffic import Flow
from emulator.model.views import ComponentView, EventKind, EventView, JobView, RunRequest, RunState, RunView, Submission
from emulator.runs.holding import Testbed

TOKEN = "a-token"
SERVICE_S = {1: 10.0, 2: 12.0, 3: 13.0, 4: 14.0}


class BrokerDouble:
    """The state of the double; `on_submit` may change the outcome of a submitted job."""

    def __init__(self) -> None:
        self.topology = topology_named("mini")
        self.runs: list[RunView] = []
        self.jobs: dict[int, JobView] = {}
        self.journal: list[EventView] = []
        self.changed = threading.Condition()
        self.on_submit: Callable[[JobView], None] = self.finish
        self.refusal: tuple[int, str, str] | None = None
        self.interconnects: dict[int, str] = {}
        self.files: dict[str, FileRegistration] = {}
        self.needed_files: set[str] = set()
        self.registered: list[FileRegistration] = []
        self.proofs = 0
        self.more_results: Callable[[JobView], dict[str, Any]] = lambda job: {}

    @property
    def held(self) -> bool:
        return any(run.state is not RunState.ENDED for run in self.runs)

    def append(self, kind: EventKind, time_s: float, job: JobView | None = None, **detail: Any) -> None:
        with self.changed:
            number, run = len(self.journal) + 1, self.runs[-1].id
            self.journal.append(
                EventView(
                    sequence=number,
                    run=run,
                    kind=kind,
                    time_s=time_s,
                    host_moment_s=time.time(),
                    job=job,
                    detail=detail,
                )
            )
            if job is not None:
                self.jobs[job.id] = job
            self.changed.notify_all()

    def finish(self, job: JobView) -> None:
        parts = tuple(
            ComponentView(cluster=self.topology.cluster_names[at], processors=size, allocation=f"{job.id}.{at}")
            for at, size in enumerate(job.specification.components)
        )
        began_s = job.submitted_s
        placed = job.model_copy(update={"components": parts, "placed_s": began_s + 1, "state": JobState.CLAIMING})
        self.append(EventKind.PLACED, began_s + 1, placed)
        claimed_parts = tuple(part.model_copy(update={"claimed_s": began_s + 2}) for part in parts)
        claimed = placed.model_copy(update={"components": claimed_parts, "claimed_s": began_s + 2})
        self.append(EventKind.CLAIMED, began_s + 2, claimed)
        running = claimed.model_copy(update={"started_s": began_s + 5, "state": JobState.RUNNING})
        self.append(EventKind.STARTED, began_s + 5, running)
        service_s = SERVICE_S[len(parts)]
        finished = running.model_copy(
            update={
                "finished_s": began_s + 5 + service_s,
                "released_s": began_s + 5.5 + service_s,
                "state": JobState.FINISHED,
                "exit_code": 0,
                "result": {
                    "runtime_s": service_s - 1 + 0.01 * (job.id % 5),
                    "iteration_s": (service_s - 1) / 100,
                    "iterations": 100,
                    "phases": 100,
                    "late_phases": 0,
                    "host_critical_lateness_s": 0.0,
                    "processors": sum(job.specification.components),
                    "interconnects": self.interconnects.get(len(parts), "shared-memory"),
                    **self.more_results(job),
                },
            }
        )
        self.append(EventKind.FINISHED, began_s + 5 + service_s, finished)

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        parts = path.strip("/").split("/")[1:]
        if self.refusal is not None and parts[0] == "jobs":
            status, kind, sentence = self.refusal
            return status, {"error": sentence, "kind": kind}
        match method, parts:
            case "GET", ["health"]:
                return 200, {"status": "ok"}
            case "GET", ["runs", "current"] if self.held:
                return 200, self.runs[-1]
            case "POST", ["runs"]:
                return self._take(RunRequest.model_validate(body))
            case "POST", ["runs", _, "start"]:
                self._change(RunState.RUNNING, time.time())
                self.append(EventKind.RUN_STARTED, 0.0)
                return 200, self.runs[-1]
            case "POST", ["runs", _, "end"]:
                self._end()
                return 200, self.runs[-1]
            case "POST", ["jobs"]:
                # Like the real broker, the double takes one job at a time, so that two never get the same number.
                with self.changed:
                    return 201, self._submit(Submission.model_validate(body))
            case "POST", ["files"]:
                return self._register(FileRegistration.model_validate(body))
            case "GET", ["files"]:
                return 200, [_file_view(registration) for registration in self.files.values()]
            case "DELETE", ["files", name] if name in self.needed_files:
                return 409, {"error": f"File {name!r} is needed by a job that has not ended.", "kind": "TestbedBusy"}
            case "DELETE", ["files", name] if name in self.files:
                del self.files[name]
                return 200, None
            case "GET", ["events"]:
                return 200, self._events(int(query["run"]), int(query["after"]), float(query["wait_s"]))
        return 404, {"error": f"There is no {path}.", "kind": "UnknownName"}

    def _take(self, request: RunRequest) -> tuple[int, Any]:
        if self.held:
            return 409, {"error": "Run 1 holds the testbed.", "kind": "TestbedBusy"}
        self.runs.append(RunView(id=len(self.runs) + 1, state=RunState.PREPARING, request=request))
        return 201, self.runs[-1]

    def _change(self, state: RunState, host_origin_s: float | None) -> None:
        self.runs[-1] = self.runs[-1].model_copy(update={"state": state, "host_origin_s": host_origin_s})

    def _end(self) -> None:
        if not self.held:
            return
        for job in list(self.jobs.values()):
            if job.run == self.runs[-1].id and not job.state.final:
                cancelled = job.model_copy(update={"state": JobState.CANCELLED, "reason": "The run ended."})
                self.append(EventKind.CANCELLED, 99.0, cancelled)
        self._change(RunState.ENDED, self.runs[-1].host_origin_s)
        self.append(EventKind.RUN_ENDED, 100.0)

    def _register(self, registration: FileRegistration) -> tuple[int, Any]:
        if registration.name in self.files:
            return 422, {"error": f"name: a file {registration.name!r} is there already.", "kind": "InvalidInput"}
        self.registered.append(registration)
        self.files[registration.name] = registration
        return 201, _file_view(registration)

    def _submit(self, submission: Submission) -> JobView:
        run = self.runs[-1]
        now_s = (time.time() - (run.host_origin_s or 0.0)) / run.request.dilation
        job = JobView(
            id=len(self.jobs) + 1,
            run=submission.run,
            specification=submission.specification,
            state=JobState.QUEUED,
            intended_arrival_s=submission.intended_arrival_s,
            submitted_s=now_s,
        )
        self.append(EventKind.SUBMITTED, now_s, job)
        self.on_submit(job)
        return job

    def _events(self, run: int, after: int, host_wait_s: float) -> list[EventView]:
        with self.changed:
            self.changed.wait_for(lambda: len(self.journal) > after, timeout=min(host_wait_s, 0.3))
            return [event for event in self.journal[after:] if event.run == run]


def _file_view(file: FileRegistration) -> FileView:
    replicas = tuple(ReplicaView(site=site, kept=True, users=0) for site in sorted(file.sites))
    return FileView(name=file.name, size_bytes=file.size_bytes, sha256="0" * 64, replicas=replicas)


class WideAreaDouble:
    """A double of the wide area that records how it is programmed."""

    def __init__(self) -> None:
        self.programmed: list[float] = []
        self.check_made = LinkCheck("before")
        self.control = Control.AS_ASKED
        self.controls: list[tuple[Control, float]] = []
        self.traffic: list[tuple[tuple[Flow, ...], float]] = []
        self.missing_share = 0.0

    def under(self, control: Control) -> WideAreaDouble:
        """Return a double under another control that records to the same lists."""
        other = copy(self)
        other.control = control
        return other

    def is_guest(self) -> bool:
        return False

    def carrying(self, flows: Sequence[Flow], dilation: Dilation) -> AbstractContextManager[TrafficLoad]:
        self.traffic.append((tuple(flows), dilation.factor))
        return nullcontext(TrafficLoad(self.missing_share))

    def host_clocks_ahead_s(self) -> dict[str, float]:
        return {}

    def rest(self) -> None:
        self.program(REAL_TIME)

    def program(self, dilation: Dilation) -> str:
        self.programmed.append(dilation.factor)
        self.controls.append((self.control, dilation.factor))
        return "none"

    def check(self, dilation: Dilation, moment: str) -> tuple[LinkCheck, list[LinkRow]]:
        row = LinkRow(
            moment=moment, dilation=dilation.factor, source="delft", target="leiden", quantity="delay",
            asked_s=0.001, measured_s=0.00101, within=True,
        )  # fmt: skip
        return self.check_made, [row]


@pytest.fixture
def broker() -> Iterator[BrokerDouble]:
    """Yield a double of the broker that answers over HTTP at its `url`."""
    double = BrokerDouble()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            split = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            query = {key: values[0] for key, values in parse_qs(split.query).items()}
            if split.path == PROOF_PATH:
                double.proofs += 1
                self._send(200, proof_of(TOKEN, query["nonce"]).encode())
                return
            if self.headers.get("Authorization") != f"Bearer {TOKEN}" and split.path != "/v1/health":
                status, content = 401, {"error": "The token is not this testbed's.", "kind": "Unauthorized"}
            else:
                status, content = double.answer(self.command, split.path, query, body)
            text = json.dumps(content, default=lambda value: value.model_dump(mode="json")).encode()
            self._send(status, text)

        def _send(self, status: int, text: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    double.url = f"http://127.0.0.1:{server.server_address[1]}"  # type: ignore[attr-defined]
    threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True).start()
    yield double
    server.shutdown()
    server.server_close()


@pytest.fixture
def wide_area() -> WideAreaDouble:
    return WideAreaDouble()


@pytest.fixture
def stopped() -> list[str]:
    """Return the list of the containers that the double reports as stopped."""
    return []


@pytest.fixture
def testbed(broker: BrokerDouble, wide_area: WideAreaDouble, stopped: list[str]) -> Iterator[Testbed]:
    with BrokerClient(broker.url, TOKEN) as client:  # type: ignore[attr-defined]
        yield Testbed("double", client, broker.topology, wide_area, lambda: stopped)
