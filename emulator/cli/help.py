"""The verb ``help``: the manual in the terminal."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from emulator.cli.completion import topics as offered_topics
from emulator.cli.options import JsonOption
from emulator.cli.tables import show_rows


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("help")(show_help)


def show_help(
    topic: Annotated[
        list[str] | None,
        typer.Argument(help="The topic; all are listed if it is left out.", autocompletion=offered_topics),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a page of the manual, or a section of one, by its topic; without a topic list them all.

    Into a file or a pipe it is written as Markdown.

    Example: testbed help verdicts
    """
    from emulator.cli.manual import about_topics, topic_named, topic_text

    if not topic:
        show_rows([{"topic": name, "about": line} for name, line in about_topics().items()], as_json=as_json)
        return
    found = topic_named("-".join(topic))
    text = topic_text(found)
    if as_json:
        show_rows([{"topic": found.name, "text": text}], as_json=True)
    elif sys.stdout.isatty():
        _show_rendered(text)
    else:
        print(text)


def _show_rendered(text: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text, code_theme="ansi_dark", hyperlinks=False))
