"""Text of others: without the control characters that a terminal or a log would obey, and its last line."""

from __future__ import annotations


def escaped(text: str) -> str:
    """Return `text` on one line, with each character that cannot be printed written as an escape."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def escaped_lines(text: str) -> str:
    """Return `text` with its line ends and tabs, and all else as in `escaped`."""
    return "\n".join("\t".join(escaped(part) for part in line.split("\t")) for line in text.split("\n"))


def last_line(text: str, otherwise: str = "it gave no reason") -> str:
    """Return the last line that a program printed, without its full stop; `otherwise` if it printed none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else otherwise
