"""The HTTP client of the broker, for the command line, the load generator and notebooks.

One method per request of the broker's API (version 1), typed by the models of ``emulator.model.views``. An error of the
broker is raised again here, with the broker's own sentence; `TestbedNotUp` is raised if the broker does not answer.
The token is sent only over connections whose peer has proven that it has it (``emulator.model.proof``).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, Self, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from emulator.model import errors
from emulator.model.errors import (
    JournalFailed,
    RunFailed,
    TestbedError,
    TestbedNotUp,
    Unanswered,
    Unauthorized,
    UnknownName,
)
from emulator.model.faults import UNKNOWN_KEY
from emulator.model.files import FILE_NAME_PATTERN, BandwidthView, FileRegistration, FileView
from emulator.model.page_views import NotesHeld, NotesPage, NotesRequest, PageCode, PageNow, PageSystem
from emulator.model.proof import requiring_proof
from emulator.model.views import (
    DEFAULT_RUN,
    ClusterView,
    EventKind,
    EventView,
    JobView,
    OutputView,
    QueueEntryView,
    RunRequest,
    RunView,
    Submission,
)

HOST_TIMEOUT_S = 60.0
"""Host seconds after which a request without an answer counts as unanswered."""

HOST_LONG_POLL_S = 20.0
"""Host seconds that `BrokerClient.follow` lets the broker hold a request for events."""

HOST_LOOK_TIMEOUT_S = 10.0
"""Host seconds after which a request of somebody who watches counts as unanswered."""

_HOST_REGISTER_TIMEOUT_S = 600.0  # a large file is written at every site, and its checksum taken
_HOST_END_TIMEOUT_S = 120.0  # ending a run waits until its last processors are released
_HOST_IDLE_CONNECTION_S = 2.0  # below the five seconds after which the broker's server closes an idle connection

HOST_PATIENCE_S = 30.0
"""Host seconds for which `submit_surely` tries again while the broker does not answer."""

_JOBS_IN_A_PAGE = 1_000
_HOST_FIRST_PAUSE_S = 0.1
_HOST_LONGEST_PAUSE_S = 2.0

View = TypeVar("View", bound=BaseModel)


class BrokerClient:
    """A client of one testbed's broker at `api_url`, with `token`.

    Every method raises `TestbedNotUp` if the broker does not answer, `Unauthorized` if it has another token, and
    otherwise the error that the broker names; all of them are `TestbedError`.
    """

    def __init__(self, api_url: str, token: str) -> None:
        self.api_url = api_url.rstrip("/")
        self.token = token
        self._extensions = requiring_proof(self.api_url, token, HOST_TIMEOUT_S)
        self._http = httpx.Client(
            base_url=self.api_url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=HOST_TIMEOUT_S,
            limits=httpx.Limits(keepalive_expiry=_HOST_IDLE_CONNECTION_S),
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
        self._http.close()

    def clusters(self) -> list[ClusterView]:
        """Get the clusters as their local resource managers report them, in the topology's order."""
        return _many(self._send("GET", "/v1/clusters"), ClusterView)

    def take_run(self, request: RunRequest) -> RunView:
        """Begin a run for a measurement or campaign; it holds the testbed and is being prepared.

        Raises:
            TestbedBusy: if another run holds the testbed or jobs are unfinished.
        """
        return _one(self._send("POST", "/v1/runs", body=request), RunView)

    def current_run(self) -> RunView | None:
        """Get the run that holds the testbed, if one does."""
        response = self._request("GET", "/v1/runs/current")
        if response.status_code == httpx.codes.NOT_FOUND:
            return None
        return _one(_content(response), RunView)

    def start_run(self, run: int) -> RunView:
        """Start the clock of a prepared run: emulated second zero is now."""
        return _one(self._send("POST", f"/v1/runs/{run}/start"), RunView)

    def end_run(self, run: int) -> RunView:
        """End a run: unfinished jobs are cancelled and the testbed is released. Ending it twice is no error."""
        content = self._send("POST", f"/v1/runs/{run}/end", host_timeout_s=_HOST_END_TIMEOUT_S)
        return _one(content, RunView)

    def submit(self, submission: Submission) -> JobView:
        """Submit a job."""
        return _one(self._send("POST", "/v1/jobs", body=submission), JobView)

    def submit_surely(
        self,
        submission: Submission,
        host_patience_s: float = HOST_PATIENCE_S,
        host_full_disk_s: float | None = None,
    ) -> JobView:
        """Submit a job, and try again while the broker does not answer or cannot write its journal.

        The key makes sure that the job is submitted only once. With `host_full_disk_s` a journal that cannot be written
        is waited for that long.

        Raises:
            ValueError: if the submission has no key.
        """
        if submission.key is None:
            raise ValueError("a submission without a key may be submitted twice when it is sent again")
        host_answered_s = host_began_s = time.monotonic()
        host_full_disk_s = host_patience_s if host_full_disk_s is None else host_full_disk_s
        host_pause_s = _HOST_FIRST_PAUSE_S
        while True:
            try:
                return self.submit(submission)
            except JournalFailed:
                host_answered_s = time.monotonic()
                if host_answered_s + host_pause_s > host_began_s + host_full_disk_s:
                    raise
            except Unanswered:
                if time.monotonic() + host_pause_s > host_answered_s + host_patience_s:
                    raise
            time.sleep(host_pause_s)
            host_pause_s = min(2 * host_pause_s, _HOST_LONGEST_PAUSE_S)

    def jobs(self, run: int | None = None, *, after: int = 0) -> list[JobView]:
        """Get the jobs of `run`, or of all runs, in order of submission; only those with a number above `after`."""
        jobs: list[JobView] = []
        while True:
            parameters = {"after": jobs[-1].id if jobs else after, "limit": _JOBS_IN_A_PAGE}
            if run is not None:
                parameters["run"] = run
            page = _many(self._send("GET", "/v1/jobs", parameters=parameters), JobView)
            jobs += page
            if len(page) < _JOBS_IN_A_PAGE:
                return jobs

    def queue(self) -> list[QueueEntryView]:
        """Get the waiting jobs in the order they would be tried."""
        return _many(self._send("GET", "/v1/queue"), QueueEntryView)

    def job(self, job: int) -> JobView:
        """Get one job.

        Raises:
            UnknownName: if there is no such job.
        """
        return _one(self._send("GET", f"/v1/jobs/{job}"), JobView)

    def cancel(self, job: int) -> JobView:
        """Cancel a job that has not ended, in any state.

        Raises:
            AlreadyEnded: if it has ended.
        """
        return _one(self._send("DELETE", f"/v1/jobs/{job}"), JobView)

    def output(self, job: int) -> OutputView:
        """Get what a job has written so far."""
        return _one(self._send("GET", f"/v1/jobs/{job}/output"), OutputView)

    def files(self) -> list[FileView]:
        """Get every file with its replicas and transfers, in alphabetical order."""
        return _many(self._send("GET", "/v1/files"), FileView)

    def file(self, name: str) -> FileView:
        """Get one file.

        Raises:
            UnknownName: if there is none of that name.
        """
        return _one(self._send("GET", _file_path(name)), FileView)

    def register_file(self, registration: FileRegistration) -> FileView:
        """Make a file at its sites and enter it into the catalogue; returns when it is there."""
        content = self._send("POST", "/v1/files", body=registration, host_timeout_s=_HOST_REGISTER_TIMEOUT_S)
        return _one(content, FileView)

    def remove_file(self, name: str) -> None:
        """Remove a file and all its replicas.

        Raises:
            UnknownName: if there is none of that name.
            TestbedBusy: if a job that has not ended needs it.
        """
        self._send("DELETE", _file_path(name))

    def bandwidths(self) -> list[BandwidthView]:
        """Get the bandwidth that a transfer may expect from each site to each other."""
        return _many(self._send("GET", "/v1/bandwidths"), BandwidthView)

    def page_code(self) -> str:
        """Get a code that opens one session of the live page; it expires soon."""
        return _one(self._send("POST", "/v1/page/codes"), PageCode).code

    def page_system(self) -> PageSystem:
        """Get the clusters and what is asked of the links between them."""
        return _one(self._send("GET", "/v1/page/system", host_timeout_s=HOST_LOOK_TIMEOUT_S), PageSystem)

    def page_now(self) -> PageNow:
        """Get the present status: the run that holds the testbed, its queue, and the clusters as last read.

        For some host seconds after this, the recorder of a run sends its notes.
        """
        return _one(self._send("GET", "/v1/page/now", host_timeout_s=HOST_LOOK_TIMEOUT_S), PageNow)

    def page_notes(self, run: int, *, after: int = 0) -> NotesPage:
        """Get notes on a run, from number `after` on."""
        parameters = {"run": run, "after": after}
        content = self._send("GET", "/v1/page/notes", parameters=parameters, host_timeout_s=HOST_LOOK_TIMEOUT_S)
        return _one(content, NotesPage)

    def send_notes(self, run: int, notes: NotesRequest) -> NotesHeld:
        """Send notes on a run for the live page; get how many the broker holds, and whether anyone looks."""
        return _one(self._send("POST", f"/v1/runs/{run}/notes", body=notes), NotesHeld)

    def events(
        self,
        run: int = DEFAULT_RUN,
        *,
        after: int = 0,
        host_wait_s: float = HOST_LONG_POLL_S,
        host_timeout_s: float = HOST_TIMEOUT_S,
    ) -> list[EventView]:
        """Get events of `run` with a sequence number above `after`; waits at most `host_wait_s` for the first.

        The broker counts as not answering `host_timeout_s` after that.
        """
        parameters = {"run": run, "after": after, "wait_s": host_wait_s}
        content = self._send("GET", "/v1/events", parameters=parameters, host_timeout_s=host_wait_s + host_timeout_s)
        return _many(content, EventView)

    def follow(self, run: int = DEFAULT_RUN, *, after: int = 0) -> Iterator[EventView]:
        """Yield every event of `run` above `after` as it comes, until the run has ended."""
        host_wait_s = HOST_LONG_POLL_S
        while True:
            page = self.events(run, after=after, host_wait_s=host_wait_s)
            for event in page:
                after = event.sequence
                yield event
                if event.kind is EventKind.RUN_ENDED:
                    return
            if not page and host_wait_s == 0.0:
                return
            # A run that has ended sends no more: what came right before its end is read once more.
            host_wait_s = 0.0 if not page and not self._may_go_on(run) else HOST_LONG_POLL_S

    def _may_go_on(self, run: int) -> bool:
        if run == DEFAULT_RUN:
            return True
        held = self.current_run()
        return held is not None and held.id == run

    def _send(
        self,
        method: str,
        path: str,
        *,
        body: BaseModel | None = None,
        parameters: dict[str, Any] | None = None,
        host_timeout_s: float = HOST_TIMEOUT_S,
    ) -> Any:
        return _content(self._request(method, path, body, parameters, host_timeout_s))

    def _request(
        self,
        method: str,
        path: str,
        body: BaseModel | None = None,
        parameters: dict[str, Any] | None = None,
        host_timeout_s: float = HOST_TIMEOUT_S,
    ) -> httpx.Response:
        # Without defaults: the broker of an older image knows no keys but those of its time.
        content = None if body is None else body.model_dump_json(exclude_defaults=True)
        headers = {} if content is None else {"Content-Type": "application/json"}
        try:
            return self._http.request(
                method,
                path,
                content=content,
                params=parameters,
                headers=headers,
                timeout=host_timeout_s,
                extensions=self._extensions,
            )
        except (httpx.HTTPError, ConnectionError) as error:
            raise Unanswered(
                f"The broker at {self.api_url} does not answer ({_reason(error)}): see `testbed status`, "
                "and bring it up with `testbed up`."
            ) from error


def _content(response: httpx.Response) -> Any:
    if response.is_success:
        return response.json() if response.content else None
    raise _error_of(response)


def _error_of(response: httpx.Response) -> TestbedError:
    """Return the error of ``emulator.model.errors`` that the broker names in its answer."""
    try:
        content = response.json()
        sentence, kind = str(content["error"]), str(content.get("kind", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        sentence, kind = f"The broker answered with status {response.status_code} and no reason.", ""
    if response.status_code == httpx.codes.UNAUTHORIZED:
        return Unauthorized(sentence)
    if response.status_code == httpx.codes.UNPROCESSABLE_ENTITY and UNKNOWN_KEY in sentence:
        sentence = (
            f"{sentence.rstrip('.')}: the broker is of another version, which does not know this (`testbed up --fresh` "
            "renews it, without its jobs, outputs and files)."
        )
    named = getattr(errors, kind, None)
    if isinstance(named, type) and issubclass(named, TestbedError):
        return named(sentence)
    return RunFailed(sentence)


def _one(content: object, model: type[View]) -> View:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise TestbedNotUp(_another_version(model)) from error


def _many(content: object, model: type[View]) -> list[View]:
    if not isinstance(content, list):
        raise TestbedNotUp(_another_version(model))
    return [_one(item, model) for item in content]


def _another_version(model: type[BaseModel]) -> str:
    return (
        f"The broker's answer is no {model.__name__}, so it is of another version: "
        "run `testbed down`, then `testbed up`."
    )


def _reason(error: httpx.HTTPError | ConnectionError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    return str(error).rstrip(".") or type(error).__name__


def _file_path(name: str) -> str:
    """Return the path of a file's resource; no part of a name that is none may be taken for another path.

    Raises:
        UnknownName: if no file can have that name.
    """
    if not re.fullmatch(FILE_NAME_PATTERN, name):
        raise UnknownName(f"There is no file {name!r} (`testbed files list` shows those there are).")
    return f"/v1/files/{name}"
