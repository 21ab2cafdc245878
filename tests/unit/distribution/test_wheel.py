"""A wheel holds everything that the testbed needs, nothing generic at the top, and simulates without the repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy
import pytest

from emulator.model.project import PROJECT_ROOT

FOLDER = "multicluster_testbed"


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


def test_it_simulates_far_from_the_repository_and_without_what_only_extras_install(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "environment"
    venv.create(home, with_pip=False)
    (site,) = home.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    # The base's own packages are taken from this environment; what an extra installs must not be asked for.
    (site / "base.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")
    lacking = ["scipy", "pandas", "matplotlib", "dask", "distributed", "docker", "psutil", "mypyc", "paramiko"]
    script = (
        f"import sys; sys.modules.update(dict.fromkeys({lacking}))\n"
        f"sys.argv[1:] = ['simulate', 'W1', '--policy', 'cm', '--jobs', '30', '--json']\n"
        "import emulator; print(emulator.__file__, file=sys.stderr)\n"
        "from emulator.cli.main import main; main()"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TESTBED_COMPILE": "no"}
    done = subprocess.run(
        [home / "bin" / "python", "-c", script],
        cwd=tmp_path, env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr.startswith(str(site / FOLDER))
    assert json.loads(done.stdout)["jobs_finished"] == 30
