"""How far a result can be trusted, in one word. The standard library only: shells wait for options that name it."""

from __future__ import annotations

from enum import StrEnum


class Judgement(StrEnum):
    """The degree to which a result can be trusted; ordered from best to worst by `severity`."""

    VALID = "valid"
    SUSPECT = "suspect"
    VOID = "void"

    @property
    def severity(self) -> int:
        """0 for valid, 1 for suspect, 2 for void."""
        return list(Judgement).index(self)
