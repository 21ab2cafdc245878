"""The route of submissions, the busiest one: its body becomes a `Submission` without FastAPI's dependencies.

These take a third of the time that a submission costs the broker.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import ValidationError

from emulator.broker.http.limits import PARSED_BODY
from emulator.model.views import Submission


class SubmissionRoute(APIRoute):
    """A route to an endpoint that takes a `Submission` and nothing else; described like any other."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Return a handler that reads the submission, and passes it to the endpoint."""

        async def handle(request: Request) -> Response:
            answer: Response = await self.endpoint(_submission(request))
            return answer

        return handle


def _submission(request: Request) -> Submission:
    """Return the submission in the body of `request`, which `RequestLimits` has parsed.

    Raises:
        RequestValidationError: if the body is none, or is not JSON by its content type.
    """
    body = request.scope.get(PARSED_BODY)
    if body is None:
        fault = {"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}
        raise RequestValidationError([fault])
    if not _is_json(request.headers.get("content-type", "")):
        fault = {
            "type": "json_type",
            "loc": ("body",),
            "msg": "must be JSON by its Content-Type",
            "input": "another type",
        }
        raise RequestValidationError([fault])
    try:
        return Submission.model_validate(body)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        raise RequestValidationError([{**fault, "loc": ("body", *fault["loc"])} for fault in faults]) from error


def _is_json(content_type: str) -> bool:
    kind, _, subtype = content_type.partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))
