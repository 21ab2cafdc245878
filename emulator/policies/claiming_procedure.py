"""The claiming procedure of the Close-to-Files paper (section 3): when to claim processors that cannot be reserved.

A job is placed at JPT, and its files are expected after the estimated file-transfer time FTT, so its start is planned
for JST = JPT + FTT. Claiming at JPT would waste processors, and claiming at JST would leave no time for another try.
The first try is therefore at JCT = JPT + L * FTT, and the next one after a failure at JCT + L * (JST - JCT). If JST
passes without a successful claim, JST is postponed and the procedure starts again with additional claiming tries.
Without files FTT is 0, and the first try is immediate.

The paper leaves three points open. Here a step has a minimum length, the last try before a postponement is at JST
itself, and the next step counts from the timestamp at which the failure was known, if that is later than its JCT.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from emulator.model.errors import InvalidInput
from emulator.model.scheduling import StatedClaiming


@dataclass(frozen=True, slots=True)
class ClaimingProcedure:
    """The next claiming try: its number from 1, its time (JCT), and the job's planned start (JST), in emulated seconds.

    `transfer_s` is FTT. `postponements` counts the postponements of JST.

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
    def begun(
        cls, stated: StatedClaiming, placed_s: float, transfer_s: float = 0.0, number: int = 1
    ) -> ClaimingProcedure:
        """Return the first try of a job that was placed at `placed_s`, with a file-transfer time of `transfer_s`.

        It has a `number` above 1 if the job was placed before, and its claims failed.
        """
        if transfer_s < 0:
            raise InvalidInput(f"An estimated file-transfer time is at least 0 s, not {transfer_s!r}.")
        return cls(stated, placed_s, transfer_s, number, placed_s + stated.share * transfer_s, placed_s + transfer_s)

    @property
    def additional_s(self) -> float:
        """ACT, the period of additional claiming tries: the total postponement of the start, in emulated seconds."""
        return self.postponements * self.stated.postponement_s

    def after_failure(self, known_s: float) -> ClaimingProcedure | None:
        """Return the next try after this one failed, or None if no more postponements are allowed.

        `known_s` is the emulated timestamp at which the failure was known.
        """
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

    def _step_from(self, timestamp_s: float, start_s: float) -> float:
        step_s = max(self.stated.share * (start_s - timestamp_s), self.stated.least_step_s)
        return min(timestamp_s + step_s, start_s)
