"""The claiming procedure of the Close-to-Files paper (section 3): when processors that cannot be reserved are claimed.

A job is placed at JPT, and its files are expected to be there after the estimated file-transfer time FTT: its start is
planned for JST = JPT + FTT. Claiming at JPT would waste processors and claiming at JST would come too late if it
failed, so the first try is at JCT = JPT + L * FTT, and after a failed one at JCT + L * (JST - JCT). Where JST has come
unclaimed, it is put off, and the same begins anew: additional claiming tries. Without files FTT is 0, and the first
try is at once.

Pinned where the paper is silent: a step is never below a least one, the last try before a postponement is at JST
itself, and the next step counts from the moment at which a failure was known, if that came after the next try's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from emulator.model.claiming import StatedClaiming
from emulator.model.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class ClaimingProcedure:
    """The try that is due: its number from 1, its moment (JCT), and the job's planned start (JST), in emulated seconds.

    `transfer_s` is FTT. `postponements` counts how often JST was put off.

    Raises:
        InvalidInput: if the transfer time is negative.
    """

    stated: StatedClaiming
    placed_s: float
    transfer_s: float
    number: int
    claim_s: float
    start_s: float
    postponements: int = 0

    @classmethod
    def begun(cls, stated: StatedClaiming, placed_s: float, transfer_s: float = 0.0) -> ClaimingProcedure:
        """The first try of a job that was placed at `placed_s` and whose files take `transfer_s` to come."""
        if transfer_s < 0:
            raise InvalidInput(f"An estimated file-transfer time is at least 0 s, not {transfer_s!r}.")
        return cls(stated, placed_s, transfer_s, 1, placed_s + stated.share * transfer_s, placed_s + transfer_s)

    @property
    def additional_s(self) -> float:
        """ACT, the period of additional claiming tries: by how much the start was put off in all."""
        return self.postponements * self.stated.postponement_s

    def after_failure(self, known_s: float) -> ClaimingProcedure | None:
        """The next try, the failure of this one being known at `known_s`; None if there is to be no other."""
        failed_s = max(self.claim_s, known_s)
        if failed_s < self.start_s:
            return replace(self, number=self.number + 1, claim_s=self._step_from(failed_s, self.start_s))
        missed = int((failed_s - self.start_s) // self.stated.postponement_s) + 1
        postponements = self.postponements + missed
        start_s = self.start_s + missed * self.stated.postponement_s
        most = self.stated.most_postponements
        if most is not None and postponements > most:
            return None
        return replace(
            self,
            number=self.number + 1,
            claim_s=self._step_from(failed_s, start_s),
            start_s=start_s,
            postponements=postponements,
        )

    def _step_from(self, moment_s: float, start_s: float) -> float:
        step_s = max(self.stated.share * (start_s - moment_s), self.stated.least_step_s)
        return min(moment_s + step_s, start_s)
