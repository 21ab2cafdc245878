"""The emulated processor: the cost of one grid-point update.

A `Processor` is a named profile. A topology states it as a mapping, or as the name of a file in
``compose/processors/``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from emulator.model.documents import DocumentModel, Name, read_document
from emulator.model.errors import InvalidInput
from emulator.model.names import named_among
from emulator.model.project import PROCESSORS, names_in
from emulator.model.units import BYTES_PER_POINT, seconds_from_nanoseconds

REFERENCE_APPLICATION: Final = "poisson"
"""The application whose grid-point update has weight 1."""

_COSTS: Final = ("in_cache_ns_per_point", "out_of_cache_ns_per_point", "cache_bytes")


@dataclass(frozen=True, slots=True)
class PointCosts:
    """The emulated nanoseconds of a grid-point update, in cache (the working set fits the cache) and out of cache."""

    in_cache_ns_per_point: float
    out_of_cache_ns_per_point: float
    cache_bytes: int

    def fits_cache(self, points: int) -> bool:
        """Return whether a working set of `points` grid points fits the cache."""
        return points * BYTES_PER_POINT <= self.cache_bytes

    def duration_s(self, points: int) -> float:
        """Return the emulated seconds of one update of `points` grid points in one working set."""
        per_point_ns = self.in_cache_ns_per_point if self.fits_cache(points) else self.out_of_cache_ns_per_point
        return seconds_from_nanoseconds(points * per_point_ns)


class Processor(DocumentModel):
    """A processor profile: the cost of a grid-point update of the Poisson application, and other applications' weights.

    An application's weight is the cost of its grid-point update relative to that of Poisson; 1 unless stated. An
    `unpaced` processor has no costs: it computes as fast as the host does, at every dilation.
    """

    called: ClassVar[str] = "processor profile"

    name: str
    in_cache_ns_per_point: PositiveFloat | None = None
    out_of_cache_ns_per_point: PositiveFloat | None = None
    cache_bytes: PositiveInt | None = None
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
        return PointCosts(self.in_cache_ns_per_point, self.out_of_cache_ns_per_point, self.cache_bytes)

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
