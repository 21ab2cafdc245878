"""Content of the manual that is made when the site is built: verbs, the HTTP interface, and the keys of documents.

A page asks for it by a comment on a line of its own, ``<!-- generated: verbs -->``. So the same page can be read
without the site, and says there how to see the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sphinx.application import Sphinx
from typer.core import TyperGroup

from emulator.cli.verbs import VERBS, load_verb
from emulator.model.catalogue import topology_named

SCHEMAS: Final = Path(__file__).parent / "schemas"
_COMMENT: Final = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.MULTILINE)


def setup(app: Sphinx) -> dict[str, bool]:
    """Have every page filled in as it is read; Sphinx calls this for its extensions."""
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True}


def fill_in(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the comments of a page, whose text is the only element of `source`, by what they name."""
    source[0] = generated(source[0])


def generated(source: str) -> str:
    """Return the page `source` with its comments replaced by what they name.

    Raises:
        KeyError: if a comment names something else.
    """
    return _COMMENT.sub(lambda comment: "\n".join(CONTENT[comment[1]]()), source)


def verbs() -> Iterator[str]:
    """Yield the Markdown lines of all verbs, in the order of ``testbed --help``."""
    for name in VERBS:
        yield from _command(f"testbed {name}", load_verb(name), level=2)


def _command(path: str, command: Any, level: int) -> Iterator[str]:
    yield from ("", f"{'#' * level} `{path}`", "")
    yield from _help(command)
    context = command.make_context(path, [], resilient_parsing=True)
    if isinstance(command, TyperGroup):
        for name, found in command.commands.items():
            yield from _command(f"{path} {name}", found, level + 1)
        return
    yield from ("```", f"{path} {' '.join(command.collect_usage_pieces(context))}", "```", "")
    records = (each.get_help_record(context) for each in command.get_params(context) if each.name != "help")
    rows = [f"| {_code(shown)} | {_cell(_plain(meaning))} |" for shown, meaning in filter(None, records)]
    if rows:
        yield from ("| argument or option | meaning |", "|---|---|", *rows, "")


def _help(command: Any) -> Iterator[str]:
    """Yield the help of a command, its example as a block of code."""
    for paragraph in (command.help or "").split("\n\n"):
        words = " ".join(paragraph.split())
        if words.startswith("Example: "):
            yield from ("```", words.removeprefix("Example: "), "```", "")
        else:
            yield from (_plain(words), "")


def http_api() -> Iterator[str]:
    """Yield the Markdown lines of the broker's operations, from its OpenAPI description."""
    description = _openapi()
    yield from ("", "| request | what it does | query | body | answer |", "|---|---|---|---|---|")
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            query = ", ".join(_code(each["name"]) for each in operation.get("parameters", ()) if each["in"] == "query")
            yield (
                f"| {_code(f'{method.upper()} {path}')} | {_cell(operation.get('description', ''))} | {query} "
                f"| {_body(operation.get('requestBody'))} | {_answer(operation['responses'])} |"
            )
    yield ""
    for name, schema in sorted(description["components"]["schemas"].items()):
        yield from _keys(name, schema, level=2)


def _openapi() -> dict[str, Any]:
    """Return the description of an application that serves no broker: it is only asked what it would serve."""
    from types import SimpleNamespace

    from emulator.broker.http.api import create_app
    from emulator.broker.state.journal import Journal

    broker: Any = SimpleNamespace(topology=topology_named("mini"), files=None)
    return create_app(broker, Journal(Path(":memory:")), "").openapi()


def _body(body: Mapping[str, Any] | None) -> str:
    return "" if body is None else _content(body["content"])


def _answer(responses: Mapping[str, Any]) -> str:
    good: Mapping[str, Any] = next((response for status, response in responses.items() if status.startswith("2")), {})
    return _content(good.get("content", {}))


def _content(content: Mapping[str, Any]) -> str:
    return ", ".join(_type(each["schema"]) if "schema" in each else _code(kind) for kind, each in content.items())


def schemas() -> Iterator[str]:
    """Yield the Markdown lines of the keys of every document, from the JSON schemas."""
    for file in sorted(SCHEMAS.glob("*.json")):
        schema = json.loads(file.read_text(encoding="utf-8"))
        yield from _keys(f"{file.stem}.json", schema, level=2)
        for name, part in sorted(schema.get("$defs", {}).items()):
            yield from _keys(f"{file.stem}: {name}", part, level=3)


def _keys(title: str, schema: Mapping[str, Any], level: int) -> Iterator[str]:
    """Yield a section about the keys of an object, or the values of an enumeration."""
    yield from ("", f"{'#' * level} {title}", "")
    yield from (_plain(" ".join(schema.get("description", "").split("\n\n")[0].split())), "")
    if "enum" in schema:
        yield from (f"One of {', '.join(_code(json.dumps(value)) for value in schema['enum'])}.", "")
    if not schema.get("properties"):
        return
    needed = set(schema.get("required", ()))
    yield from ("| key | value | default |", "|---|---|---|")
    for key, value in schema["properties"].items():
        default = "needed" if key in needed else _code(json.dumps(value.get("default")))
        described = f": {_cell(_plain(value['description']))}" if "description" in value else ""
        yield f"| {_code(key)}{described} | {_type(value)} | {default} |"
    yield ""


def _type(schema: Mapping[str, Any]) -> str:
    """Return in words what values a schema admits."""
    if "$ref" in schema:
        return f"*{schema['$ref'].rpartition('/')[2]}*"
    if "const" in schema:
        return _code(json.dumps(schema["const"]))
    if "enum" in schema:
        return ", ".join(_code(json.dumps(value)) for value in schema["enum"])
    for kind in ("anyOf", "oneOf", "allOf"):
        if kind in schema:
            return " or ".join(dict.fromkeys(map(_type, schema[kind])))
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}" if schema.get("items") else "list"
    limits = [
        f"{word} {schema[key]:g}"
        for key, word in (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))
        if key in schema
    ]
    return " ".join([schema.get("type", "any"), *limits])


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _plain(text: str) -> str:
    """Return `text` so that Markdown reads none of its characters as markup, outside of code."""
    parts = text.split("`")
    return "`".join(re.sub(r"([*_<>\[\]])", r"\\\1", part) if place % 2 == 0 else part
                    for place, part in enumerate(parts)).replace("\\`", "`")  # fmt: skip


def other_pages() -> Iterator[str]:
    """Yield the names of the pages that the contents do not name, so that a new page is found before it is placed."""
    folder = Path(__file__).parent
    named = set((folder / "index.md").read_text(encoding="utf-8").split())
    yield from sorted(page.stem for page in folder.glob("*.md") if page.stem not in {*named, "index"})


CONTENT: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "verbs": verbs,
    "http-api": http_api,
    "schemas": schemas,
    "other-pages": other_pages,
}
