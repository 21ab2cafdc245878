"""The broker's HTTP interface, version 1, described by OpenAPI at ``/v1/openapi.json``.

Bodies are the models of `emulator.model.views`; an error is an `ErrorView` with a suitable status. Requests pass
``limits`` first; ``event_feed`` serves events, ``metrics`` serves ``/metrics``.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from pydantic import BaseModel, TypeAdapter
from starlette.exceptions import HTTPException

from emulator.broker.http.event_feed import event_stream, events_page
from emulator.broker.http.files import files_router
from emulator.broker.http.limits import RequestLimits, TokenRequired, refusal
from emulator.broker.http.metrics import Metrics
from emulator.broker.http.page import SESSIONS_PATH, LivePage, add_page_files, page_router
from emulator.broker.http.slow_work import SlowWork
from emulator.broker.http.submission_route import SubmissionRoute
from emulator.broker.service import Broker
from emulator.broker.state.journal import Journal
from emulator.model.errors import (
    AlreadyEnded,
    InvalidInput,
    JournalFailed,
    KeyTaken,
    TestbedBusy,
    TestbedError,
    TestbedNotUp,
    Unauthorized,
    UnknownName,
)
from emulator.model.faults import fault_sentence
from emulator.model.proof import NONCE_PATTERN, PROOF_PATH, proof_of
from emulator.model.views import (
    LARGEST_NUMBER,
    ClusterView,
    ErrorView,
    EventView,
    HealthView,
    JobView,
    OutputView,
    QueueEntryView,
    RunRequest,
    RunView,
    Submission,
)

STATUS: list[tuple[type[TestbedError], int]] = [
    (Unauthorized, 401),
    (UnknownName, 404),
    (InvalidInput, 422),
    (KeyTaken, 409),
    (AlreadyEnded, 409),
    (TestbedBusy, 409),
    (JournalFailed, 503),
    (TestbedNotUp, 409),
    (TestbedError, 500),
]
LONGEST_WAIT_HOST_S = 60.0
LARGEST_PAGE = 1_000
OPEN_PATHS = ("/v1/health", "/v1/openapi.json", "/metrics", PROOF_PATH, SESSIONS_PATH)
"""Paths without a token: they show no user's jobs."""

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorView, "description": description}
    for status, description in {
        401: "The token is missing or not this testbed's.",
        404: "There is no such job, run, or page.",
        409: "It conflicts with another run, with an end, or with a key that is taken.",
        413: "The body is too large.",
        503: "The broker's journal cannot be written for now.",
        422: "A field is missing, unknown, or has an invalid value; the sentence names it.",
    }.items()
}
JobNumber = Annotated[int, Path(ge=0, le=LARGEST_NUMBER, description="The job's number.")]
RunNumber = Annotated[int, Path(ge=0, le=LARGEST_NUMBER, description="The run's number.")]
OfRun = Annotated[int, Query(ge=0, le=LARGEST_NUMBER, description="The run; 0 is the default run.")]
After = Annotated[int, Query(ge=0, le=LARGEST_NUMBER, description="Only what is numbered above.")]
LastEventId = Annotated[str | None, Header(max_length=20, pattern=r"^[0-9]{1,15}$")]

_JOBS = TypeAdapter(list[JobView])


class _DescribedApi(FastAPI):
    """An application whose OpenAPI description says which operations need the token."""

    def openapi(self) -> dict[str, Any]:
        """Return the description, made once."""
        if self.openapi_schema is None:
            schema = get_openapi(title=self.title, version=self.version, routes=self.routes)
            schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            for path, methods in schema["paths"].items():
                for operation in methods.values():
                    operation["security"] = [] if path in OPEN_PATHS else [{"token": []}]
            self.openapi_schema = schema
        return self.openapi_schema


def create_app(
    broker: Broker, journal: Journal, token: str, page: LivePage | None = None, testbed: str = ""
) -> FastAPI:
    """Create the ASGI application that serves `broker` to clients that have `token`, and a live page to browsers."""
    page = page or LivePage()
    app = _DescribedApi(
        title="Multicluster Testbed broker",
        version="1",
        openapi_url="/v1/openapi.json",
        docs_url=None,  # its scripts would come from the Internet
        redoc_url=None,
        redirect_slashes=False,  # a redirect would lead to whatever host the request names
    )
    _add_error_answers(app)
    slow = SlowWork()
    files = files_router(broker.files, slow)
    for routes in (_jobs(broker), _runs(broker, slow), _views(broker, slow), _events(broker, journal), files):
        app.include_router(routes, responses=ERRORS)
    app.include_router(page_router(page, broker, journal, testbed), responses=ERRORS)
    add_page_files(app, page)
    _add_open_pages(app, broker, Metrics(broker.topology, journal), token)
    app.add_middleware(RequestLimits)
    app.add_middleware(TokenRequired, token=token, open_paths=(*OPEN_PATHS, *page.assets), also_admits=page.admits)
    return app


def _add_open_pages(app: FastAPI, broker: Broker, metrics: Metrics, token: str) -> None:
    @app.get(
        "/v1/health",
        responses={
            503: {
                "model": HealthView,
                "description": "A cluster does not answer, or the broker recovers or is degraded.",
            }
        },
    )
    async def health(response: Response) -> HealthView:
        """Get whether every cluster answers, and the broker has recovered and can write its journal; 503 while not."""
        health, fault = broker.health(), broker.fault()
        missing = health.unreachable or health.silent
        response.status_code = 503 if fault or missing or health.is_recovering else 200
        status = "degraded" if fault else "recovering" if health.is_recovering else "waiting" if missing else "ok"
        return HealthView(status=status, unreachable=health.unreachable, silent=health.silent, reason=fault)

    @app.get(PROOF_PATH, response_class=PlainTextResponse, responses={422: ERRORS[422]})
    async def proof(nonce: Annotated[str, Query(pattern=NONCE_PATTERN, description="Random digits.")]) -> str:
        """Get a keyed hash of the nonce, which shows that this broker has the token."""
        return proof_of(token, nonce)

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    def shown_metrics() -> Response:
        """Get all metrics, for Prometheus."""
        return Response(metrics.text(broker.readings(), broker.malformed_events()), media_type=metrics.media_type)


def _runs(broker: Broker, slow: SlowWork) -> APIRouter:
    routes = APIRouter()

    @routes.post("/v1/runs", status_code=201)
    async def begin_run(request: RunRequest) -> RunView:
        """Begin a run, which then holds the testbed; only one run can."""
        return await slow(partial(broker.begin_run, request))

    @routes.post("/v1/runs/{number}/start")
    def start_run(number: RunNumber) -> RunView:
        """Set the run's clock to zero; from now on it takes jobs."""
        return broker.start_run(number)

    @routes.post("/v1/runs/{number}/end")
    async def end_run(number: RunNumber) -> RunView:
        """Cancel unfinished jobs and release the testbed; to end a run twice is no error."""
        return await slow(partial(broker.end_run, number))

    @routes.get("/v1/runs/current")
    def current_run() -> RunView:
        """Get the run that holds the testbed."""
        run = broker.current_run()
        if run is None:
            raise UnknownName("No run holds the testbed.")
        return run

    return routes


def _jobs(broker: Broker) -> APIRouter:
    routes = APIRouter()

    async def submit(submission: Submission) -> Response:
        """Submit a job to the current run or the default run; it is durable when this is answered."""
        view = await asyncio.wrap_future(broker.submit_async(submission))
        return _json_response(view, status=201)

    routes.add_api_route(
        "/v1/jobs",
        submit,
        methods=["POST"],
        status_code=201,
        response_model=JobView,
        route_class_override=SubmissionRoute,
    )

    @routes.get("/v1/jobs", response_model=list[JobView])
    def jobs(
        run: Annotated[int | None, Query(ge=0, le=LARGEST_NUMBER, description="Only the jobs of this run.")] = None,
        after: After = 0,
        limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="The largest number of jobs.")] = LARGEST_PAGE,
    ) -> Response:
        """Get jobs in order of submission; for the next page give the last job's number as `after`."""
        return Response(_JOBS.dump_json(broker.jobs(run, after, limit)), media_type="application/json")

    @routes.get("/v1/jobs/{number}", response_model=JobView)
    def job(number: JobNumber) -> Response:
        """Get one job."""
        return _json_response(broker.job(number))

    @routes.get("/v1/jobs/{number}/output")
    def output(number: JobNumber) -> OutputView:
        """Get what the job's ranks wrote."""
        written, complained = broker.output(number)
        return OutputView(output=written, error=complained)

    @routes.delete("/v1/jobs/{number}", response_model=JobView)
    def cancel(number: JobNumber) -> Response:
        """Cancel a job in whatever state it is."""
        return _json_response(broker.cancel(number))

    return routes


def _views(broker: Broker, slow: SlowWork) -> APIRouter:
    routes = APIRouter()

    @routes.get("/v1/queue")
    def queue() -> list[QueueEntryView]:
        """Get the waiting jobs in the order they would be tried, with their placement tries so far."""
        return broker.queue()

    @routes.get("/v1/clusters")
    async def clusters() -> list[ClusterView]:
        """Get the clusters as their local resource managers report them now."""
        return await slow(broker.clusters)

    return routes


def _events(broker: Broker, journal: Journal) -> APIRouter:
    routes = APIRouter()

    @routes.get("/v1/events", response_model=list[EventView])
    async def events(
        run: OfRun, after: After = 0, wait_s: Annotated[float, Query(ge=0, le=LONGEST_WAIT_HOST_S)] = 0.0
    ) -> Response:
        """Get up to a thousand events of a run; waits up to `wait_s` host seconds for the first."""
        broker.check_run(run)
        return Response(await events_page(journal, run, after, wait_s), media_type="application/json")

    @routes.get(
        "/v1/events/stream",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def stream(run: OfRun, after: After = 0, last_event_id: LastEventId = None) -> StreamingResponse:
        """Stream the events of a run as server-sent events until it has ended; resumes by `Last-Event-ID`."""
        broker.check_run(run)
        since = after if last_event_id is None else int(last_event_id)
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        return StreamingResponse(event_stream(journal, run, since), media_type="text/event-stream", headers=headers)

    return routes


def _json_response(view: BaseModel, status: int = 200) -> Response:
    """Return `view` as JSON, without the validation that FastAPI would repeat."""
    return Response(view.model_dump_json(), status_code=status, media_type="application/json")


def _add_error_answers(app: FastAPI) -> None:
    @app.exception_handler(Exception)
    async def defect(request: Request, _: Exception) -> JSONResponse:
        sentence = f"{request.method} {request.url.path}: the broker failed; its log says how (`docker logs`)."
        return refusal(500, sentence, TestbedError.__name__)

    @app.exception_handler(TestbedError)
    async def testbed_error(_: Request, error: TestbedError) -> JSONResponse:
        status = next(status for kind, status in STATUS if isinstance(error, kind))
        return refusal(status, str(error), type(error).__name__)

    @app.exception_handler(RequestValidationError)
    async def invalid_request(_: Request, error: RequestValidationError) -> JSONResponse:
        fault = dict(error.errors()[0])
        where = fault["loc"]
        fault["loc"] = where[1:] or where  # without FastAPI's "body" or "query", unless that is all
        return refusal(422, fault_sentence(fault), InvalidInput.__name__)

    @app.exception_handler(HTTPException)
    async def no_such_page(request: Request, error: HTTPException) -> JSONResponse:
        sentence = f"{request.method} {request.url.path}: {str(error.detail).rstrip('.')}."
        kind = UnknownName if error.status_code == 404 else InvalidInput
        return refusal(error.status_code, sentence, kind.__name__, dict(error.headers or {}))
