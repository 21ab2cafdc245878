"""Logical names of files, and what may be registered: nothing that is a path, and nothing that climbs out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from emulator.model.documents import validate
from emulator.model.errors import InvalidInput
from emulator.model.files import FILE_NAME_PATTERN, FileName, FileRegistration

NAMES = TypeAdapter(FileName)
SOUND = {"name": "input", "size_bytes": 1000, "sites": ("delft", "leiden")}


@pytest.mark.parametrize("name", ["input", "file-1", "Ensflow_2003.nc", "7", "a" * 128])
def test_plain_names_are_names(name):
    assert NAMES.validate_python(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "/etc/passwd",
        ".hidden",
        "-rf",
        "a b",
        "a\n",
        "a\nb",
        "$(id)",
        "a;b",
        "é",
        "a" * 129,
    ],
)
def test_what_is_a_path_or_means_something_to_a_shell_is_no_name(name):
    with pytest.raises(ValidationError):
        NAMES.validate_python(name)


@given(st.text(max_size=8))
def test_a_name_holds_nothing_but_what_the_pattern_says(name):
    try:
        NAMES.validate_python(name)
    except ValidationError:
        assert re.fullmatch(FILE_NAME_PATTERN.strip("^$"), name) is None
    else:
        assert re.fullmatch(FILE_NAME_PATTERN.strip("^$"), name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"size_bytes": 0}, "size_bytes"),
        ({"size_bytes": 10**13}, "size_bytes"),
        ({"size_bytes": 1.5}, "size_bytes"),
        ({"sites": ()}, "sites"),
        ({"sites": ("delft", "delft")}, "sites: 'delft' stands twice"),
        ({"sites": ("../delft",)}, "sites.0"),
        ({"name": "../input"}, "name"),
        ({"path": "/etc"}, "unknown key 'path'"),
    ],
)
def test_a_registration_that_cannot_be_meant_is_refused_by_its_field(change, said):
    with pytest.raises(InvalidInput, match=said):
        validate({**SOUND, **change}, FileRegistration, source="body")
