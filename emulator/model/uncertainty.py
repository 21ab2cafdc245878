"""By how much predictions of a topology's iterations err, as a topology states it."""

from __future__ import annotations

import math
from typing import Annotated, Final

from pydantic import Field

from emulator.model.documents import DocumentModel

_NORMAL_95: Final = 1.96


class RelativeError(DocumentModel):
    """The relative standard deviations of the two parts of an iteration: computing, and messages with waiting."""

    computing: Annotated[float, Field(ge=0)]
    messages: Annotated[float, Field(ge=0)]

    def of(self, computing_share: float) -> float:
        """Return the relative standard deviation of an iteration of which that share is computing."""
        return math.hypot(self.computing * computing_share, self.messages * (1.0 - computing_share))

    def interval(self, value: float, computing_share: float) -> tuple[float, float]:
        """Return the 95% interval of `value`, which is positive and as likely to be too large as too small."""
        factor = math.exp(_NORMAL_95 * self.of(computing_share))
        return value / factor, value * factor


class Uncertainty(DocumentModel):
    """By how much predicted iterations and extension factors err, as jobs showed that were left out of a fit."""

    iteration: RelativeError
    factor: RelativeError
