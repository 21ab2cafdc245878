"""The exit codes of the ``testbed`` command (docs/command-line.md)."""

from __future__ import annotations

from typing import Final

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_VERDICT: Final = 3
EXIT_INTERRUPTED: Final = 130

EXIT_CODES: Final = (
    f"Exit codes: 0 done; {EXIT_FAILED} failed, with one sentence on stderr; {EXIT_USAGE} wrong usage; "
    f"{EXIT_VERDICT} a verdict is worse than --require; {EXIT_INTERRUPTED} interrupted."
)
