"""HTTP in front of the broker: version 1 of its interface, described by OpenAPI at ``/v1/openapi.json``.

Bodies are the models of `emulator.model.views`. Every request but the health check carries the testbed's token. An
error is ``{"error": one sentence, "kind": class name}`` with a status that fits.
"""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.params import Depends as DependsOn
from fastapi.responses import JSONResponse
from starlette.middleware.base import RequestResponseEndpoint

from emulator.broker.files_api import files_router
from emulator.broker.journal import Journal
from emulator.broker.service import Broker
from emulator.model.documents import fault_sentence
from emulator.model.errors import (
    InvalidInput,
    NotStanding,
    TestbedBusy,
    TestbedError,
    Unauthorized,
    UnknownName,
)
from emulator.model.views import ClusterView, EventView, JobView, RunRequest, RunView, Submission

STATUS: list[tuple[type[TestbedError], int]] = [
    (Unauthorized, 401),
    (UnknownName, 404),
    (InvalidInput, 422),
    (TestbedBusy, 409),
    (NotStanding, 409),
    (TestbedError, 500),
]
LONGEST_WAIT_HOST_S = 60.0
LARGEST_BODY_BYTES = 1_000_000
Number = Annotated[int, Query(ge=0, le=2**53)]


def application(broker: Broker, journal: Journal, token: str) -> FastAPI:
    """The ASGI application that serves `broker` to whoever knows `token`."""
    app = FastAPI(title="Multicluster Testbed broker", version="1", openapi_url="/v1/openapi.json", docs_url="/v1/docs")

    def authorized(request: Request) -> None:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), token.encode()):
            raise Unauthorized("The token is not this testbed's; use the one that `testbed up` wrote.")

    _add_error_answers(app)
    _add_health(app, broker)
    guarded: list[DependsOn] = [Depends(authorized)]
    _add_runs(app, broker, guarded)
    _add_jobs(app, broker, guarded)
    app.include_router(files_router(broker.files), dependencies=guarded)

    @app.get("/v1/clusters", dependencies=guarded)
    def clusters() -> list[ClusterView]:
        return broker.clusters()

    @app.get("/v1/events", dependencies=guarded)
    def events(
        run: Number, after: Number = 0, wait_s: Annotated[float, Query(ge=0, le=LONGEST_WAIT_HOST_S)] = 0.0
    ) -> list[EventView]:
        return journal.read(run, after, wait_s)

    return app


def _add_health(app: FastAPI, broker: Broker) -> None:
    @app.get("/v1/health")
    def health(response: Response) -> dict[str, object]:
        """Whether every cluster answers the broker; 503 while one does not."""
        unreachable = broker.unreachable()
        response.status_code = 503 if unreachable else 200
        return {"status": "waiting" if unreachable else "ok", "unreachable": unreachable}


def _add_runs(app: FastAPI, broker: Broker, guarded: list[DependsOn]) -> None:
    @app.post("/v1/runs", status_code=201, dependencies=guarded)
    def begin_run(request: RunRequest) -> RunView:
        """Take hold of the testbed: one run may."""
        return broker.begin_run(request)

    @app.post("/v1/runs/{number}/start", dependencies=guarded)
    def start_run(number: int) -> RunView:
        """Set the run's clock to zero; from now on it takes jobs."""
        return broker.start_run(number)

    @app.post("/v1/runs/{number}/end", dependencies=guarded)
    def end_run(number: int) -> RunView:
        """Cancel what is unfinished and let go of the testbed."""
        return broker.end_run(number)

    @app.get("/v1/runs/current", dependencies=guarded)
    def current_run() -> RunView:
        """The run that holds the testbed."""
        run = broker.current_run()
        if run is None:
            raise UnknownName("No run holds the testbed.")
        return run


def _add_jobs(app: FastAPI, broker: Broker, guarded: list[DependsOn]) -> None:
    @app.post("/v1/jobs", status_code=201, dependencies=guarded)
    def submit(submission: Submission) -> JobView:
        """Submit a job to the current run, or to the standing one."""
        return broker.submit(submission)

    @app.get("/v1/jobs", dependencies=guarded)
    def jobs(run: Annotated[int | None, Query(ge=0)] = None) -> list[JobView]:
        """Jobs in order of submission."""
        return broker.jobs(run)

    @app.get("/v1/jobs/{number}", dependencies=guarded)
    def job(number: int) -> JobView:
        """One job."""
        return broker.job(number)

    @app.get("/v1/jobs/{number}/output", dependencies=guarded)
    def output(number: int) -> dict[str, str]:
        """What the job's ranks wrote."""
        written, complained = broker.output(number)
        return {"output": written, "error": complained}

    @app.delete("/v1/jobs/{number}", dependencies=guarded)
    def cancel(number: int) -> JobView:
        """End a job wherever it is."""
        return broker.cancel(number)


def _add_error_answers(app: FastAPI) -> None:
    @app.exception_handler(TestbedError)
    def testbed_error(_: Request, error: TestbedError) -> JSONResponse:
        status = next(status for kind, status in STATUS if isinstance(error, kind))
        return _error(status, str(error), type(error).__name__)

    @app.exception_handler(RequestValidationError)
    def invalid_request(_: Request, error: RequestValidationError) -> JSONResponse:
        fault = dict(error.errors()[0])
        fault["loc"] = fault["loc"][1:]  # without FastAPI's "body" or "query"
        return _error(422, fault_sentence(fault), InvalidInput.__name__)

    @app.middleware("http")
    async def limit_size(request: Request, call_next: RequestResponseEndpoint) -> Response:
        if int(request.headers.get("content-length") or 0) > LARGEST_BODY_BYTES:
            return _error(413, f"A request body may have {LARGEST_BODY_BYTES} bytes at most.", InvalidInput.__name__)
        return await call_next(request)


def _error(status: int, sentence: str, kind: str) -> JSONResponse:
    return JSONResponse({"error": sentence, "kind": kind}, status_code=status)
