"""The container for contributors: its files exist, and it has the Python, the Debian and the tools of the project."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from typing import Any

from emulator.containers.base_image import SUITE
from emulator.containers.image_names import DEFAULT_PUBLIC_IMAGE
from emulator.model.project import PROJECT_ROOT

FOLDER = PROJECT_ROOT / ".devcontainer"
CONTAINER: dict[str, Any] = json.loads((FOLDER / "devcontainer.json").read_text())
DOCKERFILE = (FOLDER / CONTAINER["build"]["dockerfile"]).read_text()
PROJECT: dict[str, Any] = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())


def test_every_file_that_is_copied_exists() -> None:
    copied = re.findall(r"^COPY (\S+) ", DOCKERFILE, re.MULTILINE)
    assert copied
    assert [name for name in copied if not (FOLDER / name).is_file()] == []


def test_every_argument_is_one_of_the_dockerfile_and_has_the_same_default() -> None:
    defaults = dict(re.findall(r"^ARG (\w+)=(\S+)$", DOCKERFILE, re.MULTILINE))
    assert CONTAINER["build"]["args"].items() <= defaults.items()


def test_its_python_is_the_oldest_that_the_project_supports_and_checks_with() -> None:
    python = CONTAINER["build"]["args"]["PYTHON"]
    assert PROJECT["project"]["requires-python"] == f">={python}"
    assert PROJECT["tool"]["mypy"]["python_version"] == python
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{python.replace('.', '')}"


def test_its_debian_is_that_of_the_images() -> None:
    assert f"ARG IMAGE={DEFAULT_PUBLIC_IMAGE}\n" in DOCKERFILE
    assert SUITE in DEFAULT_PUBLIC_IMAGE


def test_it_makes_the_environment_by_a_target_of_the_makefile() -> None:
    program, target = CONTAINER["postCreateCommand"].split()
    assert program == "make"
    database = subprocess.run(
        ["make", "--dry-run", "--print-data-base", "--question"],
        cwd=PROJECT_ROOT, capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    assert f"\n{target}:" in database


def test_its_user_exists_and_may_use_its_engine_whose_data_are_a_volume() -> None:
    assert re.search(rf"useradd .*--groups docker {CONTAINER['remoteUser']}\b", DOCKERFILE)
    assert CONTAINER["privileged"] is True
    assert CONTAINER["overrideCommand"] is False
    (mount,) = CONTAINER["mounts"]
    assert (mount["type"], mount["target"]) == ("volume", "/var/lib/docker")


def test_the_engine_s_program_is_one_that_a_shell_reads() -> None:
    assert "engine.sh" in DOCKERFILE.rpartition("CMD")[2]
    subprocess.run(["sh", "-n", FOLDER / "engine.sh"], check=True)
