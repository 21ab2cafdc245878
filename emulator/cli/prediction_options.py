"""What verbs that predict by a model share: ``predict``, ``export`` for SimGrid, and ``calibrate`` of the model."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import typer

from emulator.model.interconnects import WhichInterconnect

DEFAULT_TOPOLOGY: Final = "das2-2003"
"""The topology on which ``predict`` has a job, and that ``calibrate --table`` starts from, unless another is named."""

InterconnectOption = Annotated[
    WhichInterconnect | None,
    typer.Option(
        help="The interconnect inside clusters; by default single-cluster for a job in one, else coallocated."
    ),
]


class Exchange(StrEnum):
    """The way in which a grid application exchanges borders."""

    STEPS = "steps"
    OVERLAPPED = "overlapped"
