"""Reading and writing of YAML documents: topologies, jobs and workloads as validated values.

Any fault of a document raises a single `InvalidInput` that names the file, the key and the value.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, Strict, StringConstraints, ValidationError

from emulator.model.errors import InvalidInput
from emulator.model.faults import first_fault, shown

NAME_PATTERN = r"^[a-z][a-z0-9-]{0,30}$"
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,30}$", to_lower=True)]
"""A name of a topology, a cluster, an interconnect or an application: capital letters are read as small ones."""

WholeNumber = Annotated[int, Strict()]
"""An integer that is written as one: neither true, nor "8", nor 4.0."""
Count = Annotated[WholeNumber, Field(gt=0)]
Real = Annotated[float, Strict()]
"""A number that is written as one: neither true nor "0.5"."""


def is_name(text: str) -> bool:
    """Return whether `text` may be a name, in small letters."""
    return re.fullmatch(NAME_PATTERN, text) is not None


class DocumentModel(BaseModel):
    """Base of every value that is read from a document: frozen, and closed to unknown keys.

    `called` is what people call such a document, where that is not the name of the class.
    """

    called: ClassVar[str] = ""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


KEPT_DOCUMENTS: Final = 64
Document = TypeVar("Document", bound=BaseModel)
_NUMBER_WITH_EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$")


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML's safe loader, which refuses equal keys instead of keeping the last one, and reads 1e-3 as a number."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


# As YAML 1.2 and JSON do; YAML 1.1 asks for a point and a sign.
_UniqueKeyLoader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER_WITH_EXPONENT, list("-+0123456789"))


def read_document(path: Path, model: type[Document]) -> Document:
    """Read the value that the YAML (or JSON) file at `path` describes.

    Raises:
        InvalidInput: if the file cannot be read or does not describe a `model`.
    """
    return parse_document(_text_of(path), model, source=str(path))


def read_content(path: Path) -> object:
    """Read what the YAML (or JSON) file at `path` holds, as plain values.

    Raises:
        InvalidInput: if the file cannot be read, or is not YAML.
    """
    return _content(_text_of(path), str(path))


def parse_document(text: str, model: type[Document], *, source: str) -> Document:
    """Return the value that YAML `text` describes; error messages call the text `source`.

    Raises:
        InvalidInput: if the text is not YAML, is empty, or does not describe a `model`.
    """
    content = _kept_content(text, source)
    if not isinstance(content, dict):
        raise InvalidInput(f"{source}: {_not_keys(content, model)}.")
    # Each time: a topology names a processor profile, whose file may have changed.
    return validate(content, model, source=source)


@lru_cache(maxsize=KEPT_DOCUMENTS)
def _kept_content(text: str, source: str) -> object:
    """Return what a text holds, not to be changed: it is kept, since cases of a sweep read the same few documents."""
    return _content(text, source)


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


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error}).") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not text in UTF-8.") from error


def _content(text: str, source: str) -> object:
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)
    except yaml.YAMLError as error:
        raise InvalidInput(f"{source}: not valid YAML: {_first_line(error)}.") from error
    except (TypeError, ValueError, RecursionError) as error:
        # A date that does not exist, a list as a key, or brackets without end: PyYAML lets Python's errors pass.
        raise InvalidInput(f"{source}: not valid YAML: {error}.") from error


def _not_keys(content: object, model: type[BaseModel]) -> str:
    """Say what a document holds instead of the keys of a `model`."""
    called = getattr(model, "called", "") or model.__name__.lower()
    needed = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
    keys = f"the keys of a {called}" + (f" ({', '.join(needed)})" if needed else "")
    return f"is empty, but needs {keys}" if content is None else f"holds {shown(content)} instead of {keys}"


def _first_line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"{problem} (line {mark.line + 1})" if mark else str(problem)
