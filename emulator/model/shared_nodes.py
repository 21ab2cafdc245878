"""Nodes whose one processor is shared in time by the tasks of several jobs, as a topology states them."""

from __future__ import annotations

from pydantic import field_validator

from emulator.model.documents import DocumentModel
from emulator.model.errors import UnknownName
from emulator.model.time_sharing.rules import rule_named


class TimeSharing(DocumentModel):
    """How the tasks of a node share its processor: a `rule` of `emulator.model.time_sharing.rules`, by name."""

    rule: str = "linux"

    @field_validator("rule")
    @classmethod
    def _is_known(cls, rule: str) -> str:
        try:
            return rule_named(rule).name
        except UnknownName as error:
            sentence = str(error)
            raise ValueError(sentence[:1].lower() + sentence[1:]) from error
