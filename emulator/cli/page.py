"""The verb ``page``: a running testbed, or a recorded run, in a browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from emulator.cli.completion import runs
from emulator.cli.foreign_text import say
from emulator.cli.given_options import refuse_given
from emulator.cli.options import DEFAULT_NAME, NameOption
from emulator.cli.testbeds import broker_of


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("page")(show_page)


def show_page(
    context: typer.Context,
    run: Annotated[
        Path | None,
        typer.Argument(
            help="A run's directory, to be replayed; by default the running testbed is shown.",
            metavar="RUN",
            autocompletion=runs,
        ),
    ] = None,
    name: NameOption = DEFAULT_NAME,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=0, max=65535, help="The port of the page of a recorded run.", show_default="any free one"
        ),
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the link in a browser, where there is one.")
    ] = True,
) -> None:
    """Open a page in your browser: a running testbed as it works, or a recorded run at any speed.

    Example: testbed page runs/w1-fcm
    """
    if run is not None:
        refuse_given(context, {"name"}, "a recorded run is shown without a testbed")
        _show_record(run, port or 0, open_browser)
        return
    refuse_given(context, {"port"}, "the page of a running testbed is at its broker's port", instead="name a RUN")
    _show_live(name, open_browser)


def _show_live(name: str, open_browser: bool) -> None:
    with broker_of(name) as client:
        link = f"{client.api_url}/#{client.page_code()}"
    _print_link(link)
    if open_browser:
        _open(link)


def _show_record(run: Path, port: int, open_browser: bool) -> None:
    from emulator.page.serving import RecordServer

    with RecordServer(run, port) as server:
        link = server.link
        _print_link(link)
        if open_browser:
            # Some browsers return only when they are closed, and need the page before.
            Thread(target=_open, args=(link,), daemon=True).start()
        ends = f"{run} is shown until you interrupt this command (Ctrl-C); `testbed page {run}` makes a new link."
        say(ends, flush=True)
        server.serve_forever(poll_interval=0.2)


def _print_link(link: str) -> None:
    print(f"{link}  (works once, within 5 minutes)", flush=True)


def _open(link: str) -> None:
    """Open the link in a browser that has a window, if one could be shown."""
    if _has_windows() and not webbrowser.open(link):
        print("No browser could be opened: follow the link yourself.", flush=True)


def _has_windows() -> bool:
    """Return whether a browser could show a window; one that runs in the terminal cannot show the page."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
