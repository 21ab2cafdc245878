"""The verb ``watch``: a running testbed, as it works, in the terminal."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Final

import typer

from emulator.cli.options import DEFAULT_NAME, NameOption
from emulator.cli.testbeds import broker_of

if TYPE_CHECKING:
    from rich.console import Console

    from emulator.watch.following import Watch

_HOST_KEY_S: Final = 0.5  # between two looks whether something is new
_HOST_DRAW_S: Final = 1.0  # between two drawings if nothing is new: the clock goes on
_HOST_END_S: Final = 1.5  # for the thread that reads to end; it waits a second for events at most


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("watch")(watch_testbed)


def watch_testbed(name: NameOption = DEFAULT_NAME) -> None:
    """Watch a running testbed in the terminal: clusters, queue, jobs and verdict lights; q quits.

    Where standard output is no terminal, it prints a line for each change of a job.

    Example: testbed watch
    """
    from rich.console import Console

    from emulator.watch.following import Watch

    watch = Watch(lambda: broker_of(name))
    console = Console()
    try:
        watch.begin()
        if sys.stdout.isatty() and not console.is_dumb_terminal:
            _show_screen(watch, console)
        else:
            _print_lines(watch)
    finally:
        watch.close()


def _print_lines(watch: Watch) -> None:
    from emulator.cli.watch_lines import say_news

    for news in watch.follow():
        say_news(news)


def _show_screen(watch: Watch, console: Console) -> None:
    """Show the screen until q is pressed, while another thread reads what is new."""
    reader = _Reader(watch)
    reader.start()
    try:
        _draw_until_quit(watch, console, reader)
    finally:
        watch.stop()
        reader.join(_HOST_END_S)


def _draw_until_quit(watch: Watch, console: Console, reader: _Reader) -> None:
    from rich.live import Live

    from emulator.cli.keys import END_OF_INPUT, pressed_keys
    from emulator.cli.watch_screen import ASCII, UNICODE, screen

    signs = ASCII if console.options.ascii_only else UNICODE
    drawn: tuple[object, ...] = ()
    drawn_host_s = 0.0
    with pressed_keys() as next_key, Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            reader.check()
            now = (watch.version, console.size, watch.loss is not None)
            if now != drawn or time.monotonic() >= drawn_host_s + _HOST_DRAW_S:
                drawn, drawn_host_s = now, time.monotonic()
                live.update(screen(watch.moment(), watch.loss, *console.size, signs), refresh=True)
            if next_key(_HOST_KEY_S) in ("q", "Q", END_OF_INPUT):
                return


class _Reader(threading.Thread):
    """A thread that reads what is new; what it fails with is raised by `check`."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(name="watch", daemon=True)
        self._watch = watch
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Read until the watch is stopped."""
        try:
            for _ in self._watch.follow():
                pass
        except BaseException as failure:
            self._failure = failure

    def check(self) -> None:
        """Raise what the reading failed with, if it did."""
        if self._failure is not None:
            raise self._failure
