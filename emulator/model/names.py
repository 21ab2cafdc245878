"""What may be a name: of a testbed, a topology, a cluster, a processor profile, an interconnect, an application."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import StringConstraints

NAME_PATTERN = r"^[a-z][a-z0-9-]{0,30}$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]


def is_name(text: str) -> bool:
    """Whether `text` may be a name."""
    return re.fullmatch(NAME_PATTERN, text) is not None
