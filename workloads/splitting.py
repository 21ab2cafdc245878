"""Splits of a total into components: by a limit on component sizes, or evenly into a given number."""

from __future__ import annotations

from emulator.model.counts import number_of
from emulator.model.errors import InvalidInput


def split_by_limit(total: int, limit: int, most_components: int) -> tuple[int, ...]:
    """Split `total` into the fewest components of at most `limit` processors, as equal as possible, largest first.

    A job that would need more than `most_components` components gets that many, and their sizes then exceed the limit
    ("Scheduling Policies for Processor Coallocation in Multicluster Systems", section 4: with at most 4 components, 128
    under a limit of 16 is split into four times 32).

    Raises:
        InvalidInput: if an argument is below 1.
    """
    for name, value in (("total", total), ("limit", limit), ("most_components", most_components)):
        if value < 1:
            raise InvalidInput(f"splitting a job: {name} must be at least 1, not {value}.")
    return as_equal_as_possible(total, min(-(-total // limit), most_components))


def as_equal_as_possible(total: int, components: int) -> tuple[int, ...]:
    """Split `total` into that many components whose sizes differ by at most 1, largest first.

    Raises:
        InvalidInput: if there are more components than processors, or none.
    """
    if not 1 <= components <= total:
        parts = number_of(components, "component")
        raise InvalidInput(f"splitting a job: {number_of(total, 'processor')} cannot make {parts}.")
    size, larger = divmod(total, components)
    return (size + 1,) * larger + (size,) * (components - larger)
