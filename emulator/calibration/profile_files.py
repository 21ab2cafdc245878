"""Writing a processor profile into a YAML file: a topology or a profile of its own, comments and layout kept.

A topology that names a profile gets one in place instead. Nothing is written that could not be read back.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from emulator.model.documents import is_name, parse_document, read_document
from emulator.model.errors import InvalidInput
from emulator.model.processor import Processor
from emulator.model.topology import Topology
from emulator.model.whole_files import written_whole

_LINE_WIDTH = 120


def profile_in(path: Path) -> Processor | None:
    """Read the profile in the file at `path`, of a topology or by itself; None if there is no such file.

    Raises:
        InvalidInput: if the file holds neither, or could not be made.
    """
    if not path.exists():
        if not path.parent.is_dir():
            raise InvalidInput(f"{path}: cannot be written (there is no folder {path.parent}).")
        return None
    if _is_topology(read_yaml(path)):
        return read_document(path, Topology).processor
    return read_document(path, Processor)


def write_profile(path: Path, processor: Processor) -> None:
    """Put `processor` in the place of the profile in the file at `path`, or into a new file.

    Raises:
        InvalidInput: if the file cannot be written, or would not hold what it should.
    """
    if not path.exists():
        write_yaml(path, _new(processor), Processor)
        return
    document = read_yaml(path)
    if _is_topology(document):
        _put_into_topology(document, processor)
        write_yaml(path, document, Topology)
    else:
        updated(document, _content(processor))
        write_yaml(path, document, Processor)


def profile_name(requested: str | None, path: Path | None, base: Processor) -> str:
    """Return the name of a calibrated profile: the one asked for, else that in the file, or that of a new file.

    A topology's own copy of a profile that has a file is called ``NAME-calibrated``, for it no longer is that profile.

    Raises:
        InvalidInput: if that may be no name.
    """
    name = requested or _name_by_file(path, base)
    if not is_name(name):
        raise InvalidInput(f"{name!r} is no name of a profile (a lower-case letter, then letters, digits or '-').")
    return name


def _name_by_file(path: Path | None, base: Processor) -> str:
    if path is None:
        return base.name
    if not path.exists():
        return path.stem
    document = read_yaml(path)
    if _is_topology(document) and isinstance(document.get("processor"), str):
        return f"{base.name}-calibrated"
    return base.name


def _put_into_topology(document: CommentedMap, processor: Processor) -> None:
    present = document.get("processor")
    if isinstance(present, CommentedMap):
        updated(present, _content(processor))
    else:
        profile = _new(processor)
        _move_comment(document, "processor", profile)
        document["processor"] = profile


def _move_comment(document: CommentedMap, key: str, value: CommentedMap) -> None:
    """Move what follows the line of `key` behind its `value`, which will take several lines."""
    tokens = document.ca.items.get(key)
    following = tokens[2] if tokens else None
    if following is not None and following.value.startswith("\n"):
        del document.ca.items[key]
        value.ca.items[list(value)[-1]] = tokens


def updated(present: MutableMapping[str, Any], new: Mapping[str, Any]) -> None:
    """Make `present` say what `new` says: equal values stay as they were written, empty ones are not added."""
    for key in [key for key in present if key not in new]:
        del present[key]
    for key, value in new.items():
        if isinstance(value, Mapping) and isinstance(present.get(key), MutableMapping):
            updated(present[key], value)
        elif value != present.get(key) and (key in present or value):
            present[key] = value


def _content(processor: Processor) -> dict[str, Any]:
    """Return the fields of a profile, with whole numbers as such."""
    content = processor.model_dump(mode="json", exclude_none=True)
    return {key: int(value) if _is_whole(value) else value for key, value in content.items()}


def _new(processor: Processor) -> CommentedMap:
    """Return a profile as a file of its own holds it, with its memory and its weights on a line each."""
    profile = CommentedMap({key: value for key, value in _content(processor).items() if value})
    for key in ("memory", "weights"):
        if key in profile:
            profile[key] = CommentedMap(profile[key])
            profile[key].fa.set_flow_style()
    return profile


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


def _is_topology(document: Mapping[str, Any]) -> bool:
    return "clusters" in document


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = _LINE_WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def read_yaml(path: Path) -> CommentedMap:
    """Read a document with its comments.

    Raises:
        InvalidInput: if it cannot be read, or holds no keys.
    """
    try:
        document = _yaml().load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error}).") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: is not valid YAML ({str(error).splitlines()[0]}).") from error
    if not isinstance(document, CommentedMap):
        raise InvalidInput(f"{path}: is neither a topology nor a processor profile.")
    return document


def write_yaml(path: Path, document: CommentedMap, model: type[BaseModel]) -> None:
    """Write a document with its comments, once it is sure that it describes a `model`.

    Raises:
        InvalidInput: if it does not.
    """
    text = io.StringIO()
    _yaml().dump(document, text)
    parse_document(text.getvalue(), model, source=str(path))
    with written_whole(path) as file:
        file.write(text.getvalue())
