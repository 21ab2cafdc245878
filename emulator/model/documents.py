"""Reading and writing of YAML documents: topologies, jobs and workloads as validated values.

Any fault of a document raises a single `InvalidInput` that names the file, the key and the value.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from emulator.model.errors import InvalidInput

NAME_PATTERN = r"^[a-z][a-z0-9-]{0,30}$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""A name of a testbed, a topology, a cluster, a processor profile, an interconnect or an application."""


def is_name(text: str) -> bool:
    """Return whether `text` may be a name."""
    return re.fullmatch(NAME_PATTERN, text) is not None


class DocumentModel(BaseModel):
    """Base of every value that is read from a document: frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


Document = TypeVar("Document", bound=BaseModel)


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML's safe loader, changed to refuse equal keys instead of silently keeping the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_document(path: Path, model: type[Document]) -> Document:
    """Read the value that the YAML (or JSON) file at `path` describes.

    Raises:
        InvalidInput: if the file cannot be read or does not describe a `model`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error}).") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not text in UTF-8.") from error
    return parse_document(text, model, source=str(path))


def parse_document(text: str, model: type[Document], *, source: str) -> Document:
    """Return the value that YAML `text` describes; error messages call the text `source`.

    Raises:
        InvalidInput: if the text is not YAML, is empty, or does not describe a `model`.
    """
    try:
        content = yaml.load(text, Loader=_UniqueKeyLoader)
    except yaml.YAMLError as error:
        raise InvalidInput(f"{source}: not valid YAML: {_first_line(error)}.") from error
    if not isinstance(content, dict):
        raise InvalidInput(f"{source}: a {model.__name__.lower()} is a mapping of keys, not {_shown(content)}.")
    return validate(content, model, source=source)


def document_text(value: BaseModel) -> str:
    """Return `value` as the YAML document from which it could be read, without keys that have their default value."""
    content = value.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)


def validate(content: object, model: type[Document], *, source: str) -> Document:
    """Validate `content` (plain mappings and lists) as a `model`.

    Raises:
        InvalidInput: if it is not valid; the message names `source`, the first key at fault and its value.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise InvalidInput(f"{source}: {first_fault(error)}") from error


def first_fault(error: ValidationError) -> str:
    """Return one sentence for the first fault that pydantic found: key, fault, value."""
    return fault_sentence(error.errors(include_url=False)[0])


def fault_sentence(fault: Mapping[str, Any]) -> str:
    """Return one sentence for a fault as pydantic describes it (``loc``, ``type``, ``msg``, ``input``)."""
    key = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        return f"unknown key {key!r} (value {_shown(fault['input'])})."
    message = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
    if fault["type"] == "missing":
        return f"{key}: this key is missing."
    if fault["type"] == "value_error":
        return f"{key}: {message}." if key else f"{message}."
    return f"{key}: {message[0].lower()}{message[1:]}, not {_shown(fault['input'])}."


def _shown(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _first_line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"{problem} (line {mark.line + 1})" if mark else str(problem)
