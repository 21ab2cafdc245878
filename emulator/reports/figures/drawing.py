"""How figures of reports look, and how they become files: SVG inside a page, or SVG, PNG, PDF and CSV in a folder.

The colours are Okabe and Ito's, which colour-blind readers tell apart, without those that vanish on white or on black.
Inside a page, black is written as the page's own text colour, so that a figure can be read on a dark page too. Text
stays text. Names of records are never read as formulas.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from xml.etree import ElementTree

from emulator.model.errors import InvalidInput
from emulator.model.whole_files import written_whole
from emulator.reports.figures.figure import DEFAULT_FORMATS, ReportFigure, data_csv
from emulator.reports.pictures import blank_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C")
LIGHT_COLOURS: Final = frozenset(("#E69F00", "#CC79A7", "#56B4E9"))
DARK_INK: Final = "#101010"
"""The colour of text on light colours; it stays dark on a dark page."""

LINES: Final = ("-", "--", "-.", ":")
GREY: Final = "#8C8C8C"
WIDTH_INCHES: Final = 6.7
"""The width of the text on a printed page."""

MOST_RUNS: Final = 24
"""The runs that a figure can set side by side."""

PRINT_DOTS_PER_INCH: Final = 200
_LONGEST_IN_COLUMNS: Final = 30
"""Characters of the longest label of a legend in columns; longer ones stand one below the other."""
_LEGEND_ROWS: Final = 2
"""The rows of a legend for which a figure's height has room."""
_LEGEND_ROW_INCHES: Final = 0.16
_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_UNDATED: Final[Mapping[str, Mapping[str, None]]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
}
"""What is left out of files, so that a figure gives the same ones tomorrow."""

_STYLE: Final[Mapping[str, Any]] = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#8C8C8C",
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "axes.formatter.useoffset": False,
}


def panels(height_inches: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, list[Axes]]:
    """Return an empty figure as wide as a printed page, and its axes by rows."""
    figure = blank_figure((WIDTH_INCHES, height_inches))
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).flatten())


def one_legend(figure: Figure, axes: Sequence[Axes], columns: int = 4) -> None:
    """Draw one legend of all `axes` below the figure, with each label once; a long one makes the figure higher."""
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, text in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(text, handle)
    if not found:
        return
    if max(map(len, found)) > _LONGEST_IN_COLUMNS:
        columns = 1
    more_rows = max(0, math.ceil(len(found) / columns) - _LEGEND_ROWS)
    figure.set_figheight(figure.get_figheight() + _LEGEND_ROW_INCHES * more_rows)
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=columns)


def only_first_drawn(runs: int) -> str:
    """Return the sentence that says that not all of so many runs are drawn; empty if they are."""
    return f" The first {MOST_RUNS} of {runs} runs are drawn." if runs > MOST_RUNS else ""


def few_ticks(axis: Axis, most: int, *, whole: bool = False) -> None:
    """Number an axis at `most` places at most, at whole numbers only if they are counts."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=most, integer=whole))


def few_ticks_of_ten(axes: Axes, along: Literal["x", "y"] = "x") -> None:
    """Make an axis logarithmic, numbered at 1, 2 and 5 times powers of ten; at powers if they are small.

    An axis so short that only one of these lies on it is numbered at equal distances.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    axes.set(**{f"{along}scale": "log"})
    axis = axes.xaxis if along == "x" else axes.yaxis
    low, high = axes.get_xlim() if along == "x" else axes.get_ylim()
    multiples = (1.0,) if low < 0.001 else (1.0, 2.0, 5.0)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    numbered = sum(low <= multiple * 10.0**decade <= high for decade in decades for multiple in multiples)
    axis.set_major_locator(LogLocator(subs=multiples) if numbered > 1 else MaxNLocator(nbins=3))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def svg_of(figure: ReportFigure, scope: str) -> str:
    """Return `figure` as an SVG element for a page, in the page's text colour; `scope` makes its identities unique."""
    root = ElementTree.fromstring(_saved(figure, "svg", transparent=True))
    for element in list(root):
        if element.tag == f"{{{_SVG}}}metadata":
            root.remove(element)
    prefix = f"{scope}-{figure.name}-"
    for element in root.iter():
        _adapt(element, prefix)
    for attribute in ("width", "height"):
        root.attrib.pop(attribute, None)
    root.set("role", "img")
    root.set("aria-label", figure.title)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    return ElementTree.tostring(root, encoding="unicode")


def write_figures(
    figures: Iterable[tuple[str, ReportFigure]], folder: Path, formats: Sequence[str] = DEFAULT_FORMATS
) -> list[Path]:
    """Write each figure, under a name, into `folder` in all `formats` and as CSV; return the paths.

    Raises:
        InvalidInput: if they cannot be written there.
    """
    written: list[Path] = []
    for name, figure in figures:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for form in formats:
                written.append(folder / f"{name}.{form}")
                written[-1].write_bytes(_saved(figure, form, transparent=False))
        except OSError as error:
            raise InvalidInput(f"{folder}: cannot be written ({error.strerror or error}).") from error
        written.append(folder / f"{name}.csv")
        with written_whole(written[-1]) as text:
            text.write(data_csv(figure.rows))
    return written


def drawn(figure: ReportFigure) -> Figure:
    """Draw `figure` in the style of all figures."""
    import matplotlib

    with matplotlib.rc_context(_style(figure.name)):
        return figure.draw()


def _saved(figure: ReportFigure, form: str, *, transparent: bool) -> bytes:
    import matplotlib

    picture, made, metadata = BytesIO(), drawn(figure), dict(_UNDATED[form])
    with matplotlib.rc_context(_style(figure.name)):
        made.savefig(picture, format=form, dpi=PRINT_DOTS_PER_INCH, metadata=metadata, transparent=transparent)
    return picture.getvalue()


def _style(name: str) -> dict[Any, Any]:
    from cycler import cycler

    return {**_STYLE, "axes.prop_cycle": cycler(color=COLOURS), "svg.hashsalt": name}


def _adapt(element: ElementTree.Element, prefix: str) -> None:
    """Make identities and references begin with `prefix`, and black the text colour of the page."""
    for attribute, value in element.attrib.items():
        name = attribute.rpartition("}")[2]
        if name == "id":
            element.set(attribute, prefix + value)
        elif name == "href" and value.startswith("#"):
            element.set(attribute, f"#{prefix}{value[1:]}")
        elif name in ("style", "clip-path", "fill", "stroke"):
            element.set(attribute, value.replace("url(#", f"url(#{prefix}").replace("#000000", "currentColor"))


def thinned(values: Sequence[Any], most: int) -> list[Any]:
    """Return at most `most` of `values`, evenly spread, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    return [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)]
