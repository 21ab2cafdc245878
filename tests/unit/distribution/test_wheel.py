"""A wheel holds all that the testbed needs, nothing generic at the top, and works without the repository and extras."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from typing import Any

import numpy
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from emulator.cli.verbs import VERBS
from emulator.model.project import PROJECT_ROOT

FOLDER = "multicluster_testbed"
RECORDED = PROJECT_ROOT / "examples" / "recorded"
MEASUREMENT, CAMPAIGN = RECORDED / "poisson-1000-on-16", RECORDED / "first-6-jobs"
BASE_VERBS: dict[str, tuple[tuple[str, ...], Callable[[Any], bool]]] = {
    "simulate": (("W1", "--policy", "cm", "--jobs", "30", "--json"), lambda shown: shown["jobs_finished"] == 30),
    "predict": (
        ("--like", str(MEASUREMENT), "--json"),
        lambda shown: [row["split"] for row in shown] == ["16", "8+8", "4+4+4+4"],
    ),
    "replay": ((str(CAMPAIGN), "--json"), lambda shown: (shown["decisions"], shown["differences"]) == (12, 0)),
    "export": (
        (str(CAMPAIGN), "--format", "swf", "--out", "log", "--json"),
        lambda shown: shown[0]["files"] == ["jobs.swf", "components.csv"],
    ),
    "help": (("verdicts", "--json"), lambda shown: shown[0]["text"].startswith("## Verdicts")),
    "list": (("policies", "--json"), lambda shown: "wf" in [row["name"] for row in shown]),
    "schema": (("topology",), lambda shown: "clusters" in shown["properties"]),
}
"""The verbs of the base installation: arguments of each, and a check of the JSON that it prints."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(made)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TESTBED_")}
    subprocess.run(command, check=True, cwd=PROJECT_ROOT, env=environment, stdout=subprocess.DEVNULL)
    (found,) = made.glob("*.whl")
    return found


def test_at_the_top_is_one_folder_of_ours_and_what_finds_it(wheel: Path) -> None:
    top = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {FOLDER, f"{FOLDER}.pth"}


def test_it_holds_every_source_and_document_of_the_repository(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    listed = subprocess.run(
        ["git", "ls-files", "apps", "compose", "emulator", "images", "workloads", "docs/schemas", ":(glob)docs/*.md"],
        cwd=PROJECT_ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    assert len(listed) > 300
    assert [name for name in listed if f"{FOLDER}/{name}" not in held] == []


@dataclass(frozen=True)
class Installation:
    """A wheel in an environment of its own, far from the repository, where all that extras install is lacking."""

    home: Path
    site: Path
    lacking: frozenset[str]

    def run(self, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command in a folder; its errors begin with where the testbed was imported from."""
        script = (
            f"import sys; sys.modules.update(dict.fromkeys({sorted(self.lacking)}))\n"
            f"sys.argv[1:] = {list(words)}\n"
            "import emulator; print(emulator.__file__, file=sys.stderr)\n"
            "from emulator.cli.main import main; main()"
        )
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TESTBED_COMPILE": "no"}
        return subprocess.run(
            [self.home / "bin" / "python", "-c", script],
            cwd=folder, env=environment, check=False, capture_output=True, text=True,
        )  # fmt: skip


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """An installation without extras; the base's own packages are taken from the environment of the tests."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    (site,) = home.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    (site / "base.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")
    return Installation(home, site, lacking_modules())


def lacking_modules() -> frozenset[str]:
    """Return the modules here that the base installation does not bring, directly or through what it requires."""
    base = base_distributions()
    return frozenset(
        module
        for module, distributions in packages_distributions().items()
        if not base & {canonicalize_name(each) for each in distributions}
    )


def base_distributions() -> set[str]:
    """Return the distributions that the base requires, and those that they require."""
    project = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting, found = [Requirement(stated) for stated in project["dependencies"]], set[str]()
    while waiting:
        name = canonicalize_name(waiting.pop().name)
        if name in found:
            continue
        found.add(name)
        try:
            needed = map(Requirement, requires(name) or [])
        except PackageNotFoundError:  # another Python or system needs it
            continue
        waiting += [each for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found


def test_what_the_extras_install_is_lacking(installed: Installation) -> None:
    beyond = {
        "cryptography", "dask", "distributed", "docker", "fastapi", "gevent", "locust", "matplotlib", "mypyc", "pandas",
        "paramiko", "prometheus_client", "psutil", "ruamel", "scipy", "setuptools", "starlette", "uvicorn",
    }  # fmt: skip
    assert beyond <= installed.lacking
    assert installed.lacking.isdisjoint({"httpx", "markdown_it", "numpy", "pydantic", "rich", "typer", "yaml"})


def test_every_verb_that_names_no_extra_is_tried() -> None:
    assert set(BASE_VERBS) == {name for name, verb in VERBS.items() if not verb.extra}


@pytest.mark.parametrize("verb", BASE_VERBS)
def test_a_verb_of_the_base_runs_far_from_the_repository_and_without_extras(
    installed: Installation, tmp_path: Path, verb: str
) -> None:
    arguments, is_right = BASE_VERBS[verb]
    done = installed.run(tmp_path, verb, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(str(installed.site / FOLDER))
    assert is_right(json.loads(done.stdout))


def test_a_verb_that_needs_an_extra_names_it(installed: Installation, tmp_path: Path) -> None:
    done = installed.run(tmp_path, "doctor")
    assert done.returncode == 1
    assert "which is not installed (install the extra 'live': pip install 'WHEEL[live]'" in done.stderr
