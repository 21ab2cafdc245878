"""Every command that README and docs/ show can be typed: its verb exists, and its options and arguments parse."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperGroup

from emulator.cli.verbs import VERBS, load_verb
from emulator.model.project import PROJECT_ROOT

PAGES = [
    *(PROJECT_ROOT / folder / "README.md" for folder in (".", "examples")),
    *sorted((PROJECT_ROOT / "docs").rglob("*.md")),
    *sorted((PROJECT_ROOT / "docs").rglob("*.ipynb")),
]
ELLIPSIS = "..."
"""What a page writes for options that it said before."""


def text_of(page: Path) -> str:
    """The text of a page; of a notebook that of its text cells."""
    content = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return content
    cells = json.loads(content)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def commands_in_blocks(page: Path) -> Iterator[list[str]]:
    """The words after ``testbed`` of each command in a block of code, comments left out."""
    for block in text_of(page).split("```")[1::2]:
        for line in block.splitlines():
            if line.startswith("testbed "):
                yield [word for word in shlex.split(line, comments=True)[1:] if word != ELLIPSIS]


def verbs_in_sentences(page: Path) -> Iterator[list[str]]:
    """The words after ``testbed`` of each command within a sentence, up to the first that is no lower-case word."""
    for words in re.findall(r"`testbed ((?:[a-z]+ ?)+)", text_of(page)):
        yield words.split()


def leaf(words: list[str]):
    """The verb that `words` begin with, and what follows it."""
    assert words[0] in VERBS, f"there is no verb {words[0]!r}"
    command, words = load_verb(words[0]), words[1:]
    while isinstance(command, TyperGroup):
        assert words, "a verb is missing"
        assert words[0] in command.commands, f"there is no verb {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


def shown(find) -> list[object]:
    return [pytest.param(words, id=f"{page.name}: {' '.join(words)}") for page in PAGES for words in find(page)]


@pytest.mark.parametrize("words", shown(commands_in_blocks))
def test_a_command_in_a_block_parses(words):
    command, rest = leaf(words)
    if "--help" not in rest:
        assert command.make_context(command.name, rest).command is command


@pytest.mark.parametrize("words", shown(verbs_in_sentences))
def test_a_command_in_a_sentence_exists(words):
    command, _ = leaf(words)
    assert command.name in words


def test_no_example_of_curl_shows_the_token_on_its_command_line():
    """Every user of a host sees the words of its commands."""
    shown = [line for page in PAGES for line in text_of(page).splitlines() if line.lstrip().startswith("curl ")]
    assert shown
    for line in shown:
        assert "-H @$HOME/.local/state/multicluster-testbed/" in line
    assert "TOKEN" not in " ".join(shown).upper()
