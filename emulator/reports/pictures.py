"""Figures as PNG: the same figure gives the same bytes, whatever screen or matplotlib backend there is."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH: Final = 80


def blank_figure(inches: tuple[float, float]) -> Figure:
    """Return an empty figure of that width and height, whose parts do not overlap."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=inches, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def as_png(figure: Figure) -> bytes:
    """Return `figure` as PNG."""
    picture = BytesIO()
    figure.savefig(picture, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return picture.getvalue()
