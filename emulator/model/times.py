"""Where the execution times of simulated jobs come from."""

from __future__ import annotations

from enum import StrEnum


class Times(StrEnum):
    """The execution times of a simulation like a live run: by the model, or those that the run measured."""

    MODEL = "model"
    RUN = "run"


class TimeSource(StrEnum):
    """The source of an execution time: the least certain one of those that it was computed from."""

    STATED = "stated"
    MEASURED = "measured"
    PREDICTED = "predicted"
