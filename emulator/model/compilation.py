"""Hints about classes for mypyc, which have no effect where the sources are interpreted.

`mypyc_attr` is the decorator of that name in mypy_extensions, which is needed only where the sources are compiled.
Classes whose values are made several times per simulated job are declared acyclic, because their values never refer
back to themselves, and the memory of a freed value is kept for the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:
    Decorated = TypeVar("Decorated")

    def mypyc_attr(**attributes: object) -> Callable[[Decorated], Decorated]:
        """Return a decorator that leaves a class unchanged."""
        return lambda decorated: decorated
