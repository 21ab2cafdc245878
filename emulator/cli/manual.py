"""The manual's pages as the verb ``help`` shows them: a topic is a page, or a section of one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

from emulator.cli.verbs import VERBS
from emulator.model.errors import UnknownName, nearest
from emulator.model.names import spelled
from emulator.model.project import MANUAL, SECTIONS, topics

_PICTURE: Final = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n+", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: the page that it is about, and the heading of its section; empty if it is the whole page."""

    name: str
    page: Path
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a page: its level, its words, and the number of its line, from 0."""

    level: int
    words: str
    line: int


def topic_named(name: str) -> Topic:
    """Return the topic that `name` means; capital letters do not count.

    Raises:
        UnknownName: if there is none; the message names those that are near.
    """
    found = spelled(name, topics())
    if found is None:
        near = [f"`testbed help {each}`" for each in nearest(name, topics())]
        suggested = f"did you mean {' or '.join(near)}? " if near else ""
        of_verb = f"`testbed {name} --help` is about the verb; " if name in VERBS else ""
        raise UnknownName(f"The manual has no topic {name!r} ({suggested}{of_verb}`testbed help` lists all topics).")
    page, heading = SECTIONS.get(found, (found, ""))
    return Topic(found, MANUAL / f"{page}.md", heading)


def about_topics() -> dict[str, str]:
    """Return all topics, each with the title of its page and the heading of its section."""
    return {name: _about(topic_named(name)) for name in topics()}


def topic_text(topic: Topic) -> str:
    """Return the Markdown of a topic without pictures and links; the last line names the topics that it linked to.

    Raises:
        UnknownName: if the page has no such heading.
    """
    text = _PICTURE.sub("", _section(topic))
    linked = dict.fromkeys(Path(target.partition("#")[0]).stem for _, target in _LINK.findall(text))
    others = [name for name in linked if name in topics() and name != topic.page.stem]
    seen = f"\n\nSee also: {', '.join(f'`testbed help {name}`' for name in others)}" if others else ""
    return _LINK.sub(r"\1", text).strip() + seen


def headings(text: str) -> Iterator[Heading]:
    """Yield the headings of a page."""
    for token, content in pairwise(MarkdownIt("commonmark").parse(text)):
        if token.type == "heading_open" and token.map:
            yield Heading(int(token.tag.removeprefix("h")), content.content, token.map[0])


def _section(topic: Topic) -> str:
    text = topic.page.read_text(encoding="utf-8")
    if not topic.heading:
        return text
    found = list(headings(text))
    begin = next((each for each in found if each.words == topic.heading), None)
    if begin is None:
        raise UnknownName(f"{topic.page}: has no heading {topic.heading!r}, so topic {topic.name!r} leads nowhere.")
    after = (each.line for each in found if each.line > begin.line and each.level <= begin.level)
    return "\n".join(text.splitlines()[begin.line : next(after, None)])


def _about(topic: Topic) -> str:
    title = next(headings(topic.page.read_text(encoding="utf-8"))).words
    return f"{title}: {topic.heading}" if topic.heading else title
