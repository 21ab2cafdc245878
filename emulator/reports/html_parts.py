"""Parts of a page in HTML: tables, badges and figures. All text from records is escaped here."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from emulator.fidelity.verdict import Judgement
from emulator.studies.claims import ClaimOutcome

MOST_EMBEDDED_BYTES: Final = 120_000
"""The largest CSV that a page holds beside its figure; of larger ones it says where they are."""

_BADGES: Final[Mapping[str, str]] = {
    Judgement.VALID: "good",
    Judgement.SUSPECT: "doubtful",
    Judgement.VOID: "bad",
    ClaimOutcome.SHOWN: "good",
    ClaimOutcome.UNDECIDED: "doubtful",
    ClaimOutcome.NOT_SHOWN: "bad",
}

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --line: #c8c8c8; --soft: #f3f3f3; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4e4; --paper: #16181b; --line: #4a4d52; --soft: #22252a; }
}
@media print { :root { --ink: #000000; --paper: #ffffff; --soft: #ffffff; } }
body { color: var(--ink); background: var(--paper); font: 15px/1.45 system-ui, sans-serif; max-width: 54rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin-bottom: 0.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; margin: 0.8rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.2rem 0.7rem 0.2rem 0; border-bottom: 1px solid var(--line);
  white-space: pre-line; }
th { background: var(--soft); }
figure { margin: 1.4rem 0; break-inside: avoid; }
figure svg { width: 100%; height: auto; fill: currentColor; }
figcaption { font-size: 0.85rem; }
.badge { border: 1.5px solid; border-radius: 0.3rem; padding: 0 0.4rem; font-weight: 600; white-space: nowrap; }
.good::before { content: "\\2713\\00a0"; } .doubtful::before { content: "?\\00a0"; }
.bad::before { content: "\\2717\\00a0"; }
.good { border-color: #009e73; } .doubtful { border-color: #e69f00; } .bad { border-color: #d55e00; }
"""


def html_page(title: str, body: Sequence[str]) -> str:
    """Return a whole page that needs no other file."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        'img-src data:">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def html_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return `rows`, whose keys are the columns in order, as a table; verdicts are badges."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    lines = ["".join(f"<td>{_cell(row.get(column))}</td>" for column in columns) for row in rows]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="wide"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'


def badge(verdict: str) -> str:
    """Return a verdict with a sign and a frame, so that it does not depend on colour."""
    return f'<span class="badge {_BADGES.get(verdict, "")}">{escape(verdict)}</span>'


def html_figure(title: str, shows: str, svg: str, data: str, name: str) -> str:
    """Return a figure with its title, what it shows, and its data: as a link, or where to get them."""
    return (
        f"<figure>\n<h3>{escape(title)}</h3>\n{svg}\n<figcaption>{escape(shows)} {_data_link(data, name)}"
        "</figcaption>\n</figure>"
    )


def paragraph(text: str) -> str:
    """Return `text` as a paragraph."""
    return f"<p>{escape(text)}</p>"


def bullets(sentences: Sequence[str]) -> str:
    """Return sentences as a list; nothing without sentences."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if sentences else ""


def _data_link(data: str, name: str) -> str:
    content = data.encode()
    if len(content) > MOST_EMBEDDED_BYTES:
        rows = data.count("\n") - 1
        return escape(f"Its {rows:,} rows of data are too many for this page: --figures FOLDER writes them.")
    encoded = base64.b64encode(content).decode()
    return f'<a download="{escape(name)}.csv" href="data:text/csv;base64,{encoded}">Data (CSV)</a>'


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    text = str(value)
    return badge(text) if text in _BADGES else escape(text)
