"""The ``testbed`` command itself: runs a verb, and turns errors and interrupts into sentences and exit codes."""

from __future__ import annotations

import errno
import os
import signal
import sys
from types import FrameType
from typing import Annotated, Final, NoReturn

import typer

from emulator.cli.exit_codes import EXIT_CODES, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_VERDICT
from emulator.cli.foreign_text import say
from emulator.cli.verbs import VERBS, VerbGroup, command_line
from emulator.model.errors import TestbedError, VerdictTooLow

SHOWS_TRACEBACKS: Final = "TESTBED_TRACEBACK"
"""Environment variable with which an error is not one sentence but a traceback, down to a policy of the user's own."""

_OF_DOCKER: Final = ("docker", "requests")
"""The packages whose exceptions say that Docker failed; only a verb that needs them imports them."""

_OF_FILES: Final = frozenset(
    {errno.EACCES, errno.EDQUOT, errno.EISDIR, errno.ELOOP, errno.EMFILE, errno.ENAMETOOLONG, errno.ENOSPC}
    | {errno.ENOTDIR, errno.EPERM, errno.EROFS}
)
"""Errors of the system that say what is wrong with a file or a disk, and not with the testbed."""

app = command_line(
    name="testbed",
    help="A multicluster on one machine: real Slurm, real wide-area links, real MPI, co-allocated jobs.",
    epilog=EXIT_CODES,
    add_completion=True,
    cls=VerbGroup,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"testbed {version('multicluster-testbed')}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Hold the options of the command itself."""


def _not_loaded() -> None:
    """Hold the place of a verb; `VerbGroup` puts the verb itself there before it runs."""


for _name, _verb in VERBS.items():
    app.command(_name, help=_verb.line)(_not_loaded)


class _Interrupts:
    """A signal handler that raises at the first interrupt, warns at the second, and raises again from the third on.

    So one more interrupt does not end the cleaning up by accident. It counts them, because typer reports an interrupt
    as an ordinary failure.
    """

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, signal_number: int, frame: FrameType | None) -> None:
        self.seen += 1
        if self.seen == 2:
            print("testbed: cleaning up (interrupt once more to leave things as they are)", file=sys.stderr)
            return
        raise KeyboardInterrupt


def main() -> None:
    """Run the command line and exit with one of `exit_codes`; where something failed, say why in one sentence."""
    interrupts = _Interrupts()
    signal.signal(signal.SIGINT, interrupts)
    signal.signal(signal.SIGTERM, interrupts)
    try:
        app()
    except TestbedError as error:
        if os.environ.get(SHOWS_TRACEBACKS):
            raise
        say(f"testbed: {error}", to_error=True)
        sys.exit(EXIT_VERDICT if isinstance(error, VerdictTooLow) else EXIT_FAILED)
    except KeyboardInterrupt:
        _exit_interrupted(interrupts)
    except SystemExit:
        if interrupts.seen:
            _exit_interrupted(interrupts)
        raise
    except Exception as error:
        sentence = _in_words(error)
        if sentence is None:
            raise
        say(f"testbed: {sentence}", to_error=True)
        sys.exit(EXIT_FAILED)


def _in_words(error: Exception) -> str | None:
    """Return what an error says to a user; None if it is a fault of the testbed itself."""
    if _is_docker_failure(error):
        return f"Docker failed in mid-work: {error} (look at `testbed status`)."
    if isinstance(error, OSError) and error.errno in _OF_FILES:
        return f"{error.filename or 'a file'}: cannot be read or written ({error.strerror})."
    return None


def _exit_interrupted(interrupts: _Interrupts) -> NoReturn:
    left = (
        "things are left as they were: see `testbed status`" if interrupts.seen > 2 else "what was begun is cleaned up"
    )
    print(f"testbed: interrupted; {left}.", file=sys.stderr)
    sys.exit(EXIT_INTERRUPTED)


def _is_docker_failure(error: Exception) -> bool:
    return any(kind.__module__.partition(".")[0] in _OF_DOCKER for kind in type(error).__mro__)


if __name__ == "__main__":
    main()
