"""Nodes whose one processor tasks of several jobs and local users share in time, as a topology states them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from emulator.model.documents import DocumentModel
from emulator.model.errors import UnknownName
from emulator.model.time_sharing.rules import SocialContract, rule_named


class TimeSharing(DocumentModel):
    """How the tasks of a node share its processor: a `rule` of `emulator.model.time_sharing.rules`, by name.

    `parallel_share` is the share of a node that parallel tasks may have while a local user wants it, under a rule that
    protects local users.
    """

    rule: str = "linux"
    parallel_share: Annotated[float, Field(ge=0, le=1)] = 0.5

    @field_validator("rule")
    @classmethod
    def _is_known(cls, rule: str) -> str:
        try:
            return rule_named(rule).name
        except UnknownName as error:
            sentence = str(error)
            raise ValueError(sentence[:1].lower() + sentence[1:]) from error

    @property
    def contract(self) -> SocialContract:
        """The contract between parallel jobs and local users."""
        return SocialContract(self.parallel_share)
