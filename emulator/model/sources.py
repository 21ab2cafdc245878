"""Source text of a researcher's own policies and disciplines, by file name: what a run's request carries of them.

The broker is a container and sees none of the user's files, so whoever begins a run sends what its names point to.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

LARGEST_SOURCE_BYTES: Final = 64 * 1024
MOST_SOURCES: Final = 8


def _of_bearable_size(text: str) -> str:
    size_bytes = len(text.encode("utf-8", "surrogatepass"))
    if size_bytes > LARGEST_SOURCE_BYTES:
        raise ValueError(f"a source file may have {LARGEST_SOURCE_BYTES} bytes at most, not {size_bytes}")
    return text


SourceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}\.py$")]
SourceText = Annotated[str, AfterValidator(_of_bearable_size)]
Sources = Annotated[dict[SourceName, SourceText], Field(max_length=MOST_SOURCES)]
"""Python source by the name of its file, without a folder: ``mypolicy.py:Mine`` is the class `Mine` in one of them."""
