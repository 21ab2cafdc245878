"""A value and its interval as people read them."""

from __future__ import annotations


def with_interval(value: float, low: float | None, high: float | None, form: str = ".4g") -> str:
    """``1.25 [1.2, 1.3]``, each number by `form`; the value alone where there is too little for an interval."""
    if low is None or high is None:
        return f"{value:{form}}"
    return f"{value:{form}} [{low:{form}}, {high:{form}}]"
