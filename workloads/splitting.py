"""How a total is split into components: by a limit on component sizes, or evenly into a given number."""

from __future__ import annotations

from emulator.model.errors import InvalidInput


def split_by_limit(total: int, limit: int, most_components: int) -> tuple[int, ...]:
    """`total` in the fewest components of at most `limit` processors, as equal as possible, largest first.

    A job that would need more than `most_components` gets that many, and only then exceeds the limit ("Scheduling
    Policies for Processor Coallocation in Multicluster Systems", section 4: 128 under a limit of 16 is four times 32).

    Raises:
        InvalidInput: if one of the three is below 1.
    """
    for name, value in (("total", total), ("limit", limit), ("most_components", most_components)):
        if value < 1:
            raise InvalidInput(f"splitting a job: {name} must be at least 1, not {value}.")
    return as_equal_as_possible(total, min(-(-total // limit), most_components))


def as_equal_as_possible(total: int, components: int) -> tuple[int, ...]:
    """`total` in that many components whose sizes differ by 1 at most, largest first.

    Raises:
        InvalidInput: if there are more components than processors, or none.
    """
    if not 1 <= components <= total:
        raise InvalidInput(f"splitting a job: {total} processors cannot make {components} components.")
    size, larger = divmod(total, components)
    return (size + 1,) * larger + (size,) * (components - larger)
