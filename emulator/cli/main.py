"""The ``testbed`` command itself: collects the verbs, and turns errors and interrupts into exit codes.

Verbs live in the other files of this package, each of which offers ``register(app)``; list it in `_VERB_GROUPS`.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

import typer
from docker.errors import DockerException
from requests.exceptions import RequestException

from emulator.cli import (
    calibrating,
    campaigning,
    exporting,
    files,
    jobs,
    measuring,
    planning,
    replaying,
    reporting,
    reproducing,
    simulating,
    standing,
    studying,
    verifying,
)
from emulator.model.errors import TestbedError

EXIT_FAILED: Final = 1
EXIT_INTERRUPTED: Final = 130

_VERB_GROUPS: Final[tuple[Callable[[typer.Typer], None], ...]] = (
    standing.register,
    measuring.register,
    planning.register,
    verifying.register,
    calibrating.register,
    campaigning.register,
    jobs.register,
    files.register,
    reporting.register,
    replaying.register,
    reproducing.register,
    simulating.register,
    studying.register,
    exporting.register,
)

app = typer.Typer(
    name="testbed",
    help="A multicluster on one machine: real Slurm, real wide-area links, real MPI, co-allocated jobs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

for _register in _VERB_GROUPS:
    _register(app)


class _Interrupts:
    """Raises the first interrupt, and lets the cleaning up that follows be ended only by the third.

    Remembers it too, because typer reports an interrupt as an ordinary failure.
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
    """Run the command line; exits 0, 1 with one sentence on stderr, 2 for wrong usage, or 130 when interrupted."""
    interrupts = _Interrupts()
    signal.signal(signal.SIGINT, interrupts)
    signal.signal(signal.SIGTERM, interrupts)
    try:
        app()
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        sys.exit(EXIT_FAILED)
    except (DockerException, RequestException) as error:
        print(f"testbed: Docker failed in mid-work: {error} (look at `testbed status`).", file=sys.stderr)
        sys.exit(EXIT_FAILED)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except SystemExit:
        if interrupts.seen:
            sys.exit(EXIT_INTERRUPTED)
        raise


if __name__ == "__main__":
    main()
