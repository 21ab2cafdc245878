"""Nodes whose one processor tasks of several jobs and local users share in time, as a topology states them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, field_validator

from emulator.model.documents import DocumentModel
from emulator.model.errors import UnknownName
from emulator.model.local_users import profile_named
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

    def memory_beside_users_mb(self, node_memory_mb: float, local_users: Mapping[str, str]) -> dict[str, float]:
        """Return what parallel tasks may hold of each node at which one of `local_users` works, named by profile."""
        return {
            node: self.contract.memory_for_jobs(node_memory_mb, profile_named(name).memory_share * node_memory_mb)
            for node, name in local_users.items()
        }
