"""How a run claims processors where nothing can be reserved, as a document: the parameters of the claiming procedure.

"An Evaluation of the Close-to-Files Processor and Data Co-Allocation Policy in Multiclusters", section 3; the procedure
itself is `emulator.policies.claiming`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from emulator.model.documents import DocumentModel


class StatedClaiming(DocumentModel):
    """The parameters of the claiming procedure; the defaults are the paper's.

    `share` (L) is the share of the estimated file-transfer time that passes before the first try, and of the rest of it
    before each later one. `least_step_s` is the least time between tries, which the paper lacks and without which they
    converge on the start without reaching it. `postponement_s` is by how much the start is put off when it has come and
    the processors are not claimed; a job fails once that was done `most_postponements` times, without end if None.
    """

    share: Annotated[float, Field(gt=0, lt=1)] = 0.75
    least_step_s: Annotated[float, Field(gt=0, le=86_400)] = 1.0
    postponement_s: Annotated[float, Field(gt=0, le=86_400)] = 240.0
    most_postponements: Annotated[int, Field(ge=0, le=1_000_000)] | None = None

    def divided(self, time_scale: float) -> StatedClaiming:
        """The same in seconds of a run whose times are divided by `time_scale`."""
        times_s = {key: getattr(self, key) / time_scale for key in ("least_step_s", "postponement_s")}
        return self.model_copy(update=times_s)
