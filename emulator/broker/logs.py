"""The broker's log: one line a record, whatever is in it, so that no text of a user's can pass for a record."""

from __future__ import annotations

import logging


class OneLine(logging.Formatter):
    """Writes a record, the trace of an error included, on one line; what cannot be printed becomes an escape."""

    def format(self, record: logging.LogRecord) -> str:
        """The record's only line."""
        text = super().format(record)
        return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def begin() -> None:
    """Send what every library logs to standard error, a line each, from warnings on."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
