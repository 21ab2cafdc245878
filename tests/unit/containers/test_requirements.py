"""Pinned requirements: a version and a hash for everything that pyproject.toml asks for, and no package index."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from emulator.model.project import PROJECT_ROOT

PROJECT: dict[str, Any] = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
BASE: list[str] = PROJECT["project"]["dependencies"]
LISTED = {
    "requirements/dev.txt": BASE + [line for name, lines in EXTRAS.items() if name != "bench" for line in lines],
    "requirements/host.txt": BASE + [line for name in ("sim", "live") for line in EXTRAS.get(name, [])],
    "requirements/bench.txt": EXTRAS["bench"],
    "requirements/build.txt": [*PROJECT["build-system"]["requires"], "mypy", "setuptools"],
    "images/broker/requirements.txt": EXTRAS["broker"],
}


def pins(file: str) -> dict[str, Requirement]:
    """The requirements of a file by name, without their hashes."""
    lines = (PROJECT_ROOT / file).read_text().splitlines()
    found = [Requirement(line.split(" \\")[0]) for line in lines if re.match(r"\w", line)]
    return {canonicalize_name(requirement.name): requirement for requirement in found}


@pytest.mark.parametrize("file", LISTED)
def test_what_pyproject_asks_for_is_pinned_within_its_bounds(file: str) -> None:
    pinned = pins(file)
    for requirement in map(Requirement, LISTED[file]):
        if requirement.name != PROJECT["project"]["name"]:
            (version,) = pinned[canonicalize_name(requirement.name)].specifier
            assert version.operator == "=="
            assert requirement.specifier.contains(version.version), f"{requirement}: run `make lock`"


@pytest.mark.parametrize("file", LISTED)
def test_every_pin_has_a_hash_and_none_an_address(file: str) -> None:
    text = (PROJECT_ROOT / file).read_text()
    entries = re.findall(r"^\w[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.MULTILINE)
    assert len(entries) == len(pins(file))
    assert "://" not in text
    assert not re.search(r"^-", text, re.MULTILINE)


@pytest.mark.parametrize("file", [file for file in LISTED if Path(file).name != "dev.txt"])
def test_the_environments_agree_on_versions(file: str) -> None:
    everything = pins("requirements/dev.txt")
    for name, requirement in pins(file).items():
        if name in everything:
            assert requirement.specifier == everything[name].specifier


def test_the_brokers_pins_depend_on_no_marker() -> None:
    assert all(requirement.marker is None for requirement in pins("images/broker/requirements.txt").values())
