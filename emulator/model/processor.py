"""The emulated processor: the cost of one grid-point update.

A `Processor` is a named profile. A topology states it as a mapping, or as the name of a file in
``compose/processors/``.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from emulator.model.documents import DocumentModel, Name, read_document
from emulator.model.errors import InvalidInput
from emulator.model.names import named_among
from emulator.model.point_costs import MemoryCosts, PointCosts
from emulator.model.project import PROCESSORS, names_in

REFERENCE_APPLICATION: Final = "poisson"
"""The application whose grid-point update has weight 1."""

NonNegative = Annotated[float, Field(ge=0)]

_COSTS: Final = ("in_cache_ns_per_point", "out_of_cache_ns_per_point", "cache_bytes")


class Memory(DocumentModel):
    """The memory of a node: what makes the cost of a point a curve instead of a step (`emulator.model.point_costs`)."""

    cache_ways: PositiveInt
    first_level_bytes: PositiveInt
    shared_share: NonNegative = 0.0
    long_row_ns_per_point: NonNegative = 0.0

    @property
    def costs(self) -> MemoryCosts:
        """The same as a plain value."""
        return MemoryCosts(self.cache_ways, self.first_level_bytes, self.shared_share, self.long_row_ns_per_point)


class Processor(DocumentModel):
    """A processor profile: the cost of a grid-point update of the Poisson application, and other applications' weights.

    Without a `memory` the cost is a step at `cache_bytes`, 8 bytes a point; with one it is a curve. An application's
    weight is the cost of its grid-point update relative to that of Poisson; 1 unless stated. An `unpaced` processor has
    no costs: it computes as fast as the host does, at every dilation.
    """

    called: ClassVar[str] = "processor profile"

    name: str
    in_cache_ns_per_point: PositiveFloat | None = None
    out_of_cache_ns_per_point: PositiveFloat | None = None
    cache_bytes: PositiveInt | None = None
    memory: Memory | None = None
    weights: dict[Name, PositiveFloat] = Field(default_factory=dict)
    unpaced: bool = False

    @model_validator(mode="after")
    def _has_costs_or_is_unpaced(self) -> Self:
        for key in _COSTS:
            given = getattr(self, key) is not None
            if given and self.unpaced:
                raise ValueError(f"{key}: an unpaced processor has no costs, since it computes as fast as the host")
            if not given and not self.unpaced:
                raise ValueError(f"{key}: this key is missing (or say unpaced: true, to compute as fast as the host)")
        if self.unpaced and self.memory is not None:
            raise ValueError("memory: an unpaced processor has no costs, since it computes as fast as the host")
        if self.unpaced and self.weights:
            raise ValueError("weights: an unpaced processor has none, since it computes as fast as the host")
        if self.weights.get(REFERENCE_APPLICATION, 1.0) != 1.0:
            raise ValueError(f"weights.{REFERENCE_APPLICATION}: is 1 by definition, for it is the unit")
        return self

    @property
    def costs(self) -> PointCosts | None:
        """The costs per grid point; None if the processor is unpaced."""
        if self.in_cache_ns_per_point is None or self.out_of_cache_ns_per_point is None or self.cache_bytes is None:
            return None
        memory = None if self.memory is None else self.memory.costs
        return PointCosts(self.in_cache_ns_per_point, self.out_of_cache_ns_per_point, self.cache_bytes, memory)

    def weight(self, application: str) -> float:
        """Return the cost of a grid-point update of `application` relative to that of Poisson."""
        return self.weights.get(application, 1.0)

    @property
    def described(self) -> str:
        """The profile in a few words, for people."""
        if self.unpaced:
            return f"{self.name}, unpaced: computes at the host's own speed"
        return (
            f"{self.name}, {self.in_cache_ns_per_point:g} ns a point in {self.cache_bytes} bytes of cache,"
            f" {self.out_of_cache_ns_per_point:g} ns out of it"
        )


def profile_names() -> list[str]:
    """List the names of all profiles in ``compose/processors/``."""
    return names_in(PROCESSORS)


def processor_named(name: str) -> Processor:
    """Read the profile in ``compose/processors/NAME.yaml``.

    Raises:
        UnknownName: if there is none.
        InvalidInput: if the file is not a valid profile, or its name is another.
    """
    found = named_among("processor profile", name, profile_names())
    file = PROCESSORS / f"{found}.yaml"
    processor = read_document(file, Processor)
    if processor.name != found:
        raise InvalidInput(f"{file}: name: the profile in this file is called {found!r}, not {processor.name!r}.")
    return processor
