"""Every message that the page on troubleshooting quotes is one that the program can say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.model.project import PROJECT_ROOT

PAGE = (PROJECT_ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
ANYTHING = "..."
VALUE = "\0"
"""What stands in a template for a value that the program fills in."""


def quoted() -> list[str]:
    """The messages in the first columns of the page's tables."""
    cells = [line.split(" | ")[0].removeprefix("| ") for line in PAGE.splitlines() if line.startswith("| `")]
    return [message for cell in cells for message in re.findall(r"`([^`]+)`", cell)]


def templates(source: Path) -> Iterator[str]:
    """The texts in a module, with `VALUE` where something is filled in."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else VALUE for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"\{[^}]*\}", VALUE, node.value)


SOURCES = [
    file for folder in ("emulator", "images", "workloads") for file in sorted((PROJECT_ROOT / folder).rglob("*.py"))
]
SAID = [text for file in SOURCES for text in templates(file)]


def test_the_page_quotes_messages() -> None:
    assert len(quoted()) > 30


@pytest.mark.parametrize("message", quoted())
def test_a_quoted_message_is_said_by_the_program(message: str) -> None:
    pattern = ".*".join(re.escape(part) for part in message.split(ANYTHING))
    assert any(re.search(pattern, text, re.DOTALL) for text in SAID)


@pytest.mark.parametrize("message", ["The testbed is tired of ...", "Port ... of ... is free"])
def test_a_message_that_nobody_says_is_found_out(message: str) -> None:
    with pytest.raises(AssertionError):
        test_a_quoted_message_is_said_by_the_program(message)
