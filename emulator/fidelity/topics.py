"""What a reason of a verdict is about: phases, the host, the links, the background load, or the jobs themselves.

Records keep reasons as sentences. The live page shows a light for each topic, and sorts the sentences by their words; a
test has ``verdict`` make every one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final


class Topic(StrEnum):
    """The topic of a reason against a result."""

    PHASES = "phases"
    HOST = "host"
    LINKS = "links"
    BACKGROUND = "background"
    JOBS = "jobs"


_PATTERNS: Final = (
    (Topic.LINKS, r"link check |the router does not carry|a link was programmed|packets dropped|timeouts of TCP"),
    (Topic.LINKS, r"datagrams of others|traffic of others took|processors and links of .* are real"),
    (Topic.LINKS, r"of the background traffic "),
    (Topic.BACKGROUND, r"^background load "),
    (Topic.JOBS, r"^(failed|cancelled)\b|^only [0-9]+ of [0-9]+ jobs?|^[0-9]+ jobs? failed|^of [0-9]+ jobs? "),
    (Topic.JOBS, r"^the run "),
    (Topic.PHASES, r"compute phases|late by .* of the|submitted late|^late middleware"),
    (Topic.PHASES, r"^processors unpaced|^a program of one's own"),
    (Topic.HOST, r"waited for|processors stolen|CPU time stolen|other work took|throttled|stood still|host's memory"),
    (Topic.HOST, r"pages swapped|process(es)? killed|to reach the disk|host's clock was set|nobody watched"),
    (Topic.HOST, r"^the clock of host "),
)
_TOPICS: Final = tuple((topic, re.compile(pattern)) for topic, pattern in _PATTERNS)


def reasons_by_topic(reasons: Iterable[str]) -> list[tuple[Topic, str]]:
    """Return each of `reasons` with what it is about."""
    return [(topic_of(reason), reason) for reason in reasons]


def topic_of(reason: str) -> Topic:
    """Return what `reason` is about; of an unknown one, the jobs."""
    return next((topic for topic, pattern in _TOPICS if pattern.search(reason)), Topic.JOBS)
