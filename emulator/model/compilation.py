"""What a compiler of our sources may be told about a class; interpreted, it says nothing.

`mypyc_attr` is the decorator of that name in mypy_extensions, which is needed only where sources are compiled. Values
made several times for each simulated job are declared acyclic, because they hold nothing that could hold them, and
their memory is kept for the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:
    Decorated = TypeVar("Decorated")

    def mypyc_attr(**attributes: object) -> Callable[[Decorated], Decorated]:
        """Leave a class as it is."""
        return lambda decorated: decorated
