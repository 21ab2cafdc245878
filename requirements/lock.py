"""Write the pinned requirements anew from pyproject.toml: ``make lock``, or this script with ``--upgrade``.

Each file names one version of every package and the hashes of all its wheels, for every platform and every Python that
pyproject.toml allows; no file names a package index. Pins that still satisfy pyproject.toml are kept unless
``--upgrade`` is given. uv resolves them; it is installed into a temporary environment.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HOST_EXTRAS = ("sim", "live")
"""Extras without which a testbed cannot be brought up, or a campaign cannot be simulated."""

OTHER_EXTRAS = ("bench", "broker")
"""Extras that are no part of a development environment by themselves (`dev` may include them)."""

COMPILERS = ("mypy", "setuptools")
"""What compiles the simulator; pyproject.toml states their versions."""

EDITABLE_INSTALL = "editables"
"""What hatchling asks for when a project is installed in place."""

IMAGE_PYTHON = "3.11"
IMAGE_PLATFORM = "x86_64-unknown-linux-gnu"
"""Decides only which dependencies are needed; wheels of other processors are listed, too."""


def main() -> None:
    """Write every file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions instead of those pinned")
    upgrade = ["--upgrade"] if parser.parse_args().upgrade else []
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = document["project"]
    extras = project.get("optional-dependencies", {})
    requires_python = project["requires-python"].removeprefix(">=")
    with tempfile.TemporaryDirectory() as folder:
        uv = _installed_uv(Path(folder) / "uv")
        everywhere = [uv, "pip", "compile", *upgrade, "--universal", "--fork-strategy=fewest"]
        everywhere += [f"--python-version={requires_python}"]
        dev = ROOT / "requirements" / "dev.txt"
        _lock([*everywhere, *_with_extras(extras, set(extras) - set(OTHER_EXTRAS)), "pyproject.toml"], dev)
        same = ["--constraint", str(dev)]
        host = [*everywhere, *same, *_with_extras(extras, HOST_EXTRAS), "pyproject.toml"]
        _lock(host, ROOT / "requirements" / "host.txt")
        bench = [*everywhere, *same, _listed(Path(folder) / "bench.in", extras["bench"])]
        _lock(bench, ROOT / "requirements" / "bench.txt")
        build = _listed(Path(folder) / "build.in", _build_requirements(document))
        _lock([*everywhere, *same, build], ROOT / "requirements" / "build.txt")
        in_image = [uv, "pip", "compile", *upgrade, f"--python-version={IMAGE_PYTHON}"]
        in_image += [f"--python-platform={IMAGE_PLATFORM}"]
        broker = _listed(Path(folder) / "broker.in", extras["broker"])
        _lock([*in_image, *same, broker], ROOT / "images" / "broker" / "requirements.txt")


def _installed_uv(folder: Path) -> str:
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", "uv"], check=True)
    return str(programs / "uv")


def _with_extras(extras: dict[str, list[str]], requested: set[str] | tuple[str, ...]) -> list[str]:
    return [f"--extra={name}" for name in sorted(requested) if name in extras]


def _build_requirements(document: dict[str, Any]) -> list[str]:
    """Return what building and compiling need, with the versions that pyproject.toml states."""
    project = document["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    stated = [line for lines in lists for line in lines]
    compilers = [line for line in stated if line.startswith(COMPILERS)]
    return [*document["build-system"]["requires"], EDITABLE_INSTALL, *(compilers or COMPILERS)]


def _listed(file: Path, requirements: list[str]) -> str:
    file.write_text("".join(f"{line}\n" for line in requirements))
    return str(file)


def _lock(command: list[str], file: Path) -> None:
    options = ["--quiet", "--generate-hashes", "--no-header", "--no-annotate", f"--output-file={file}"]
    subprocess.run([*command, *options], check=True, cwd=ROOT)
    file.write_text(f"# Made by `make lock` from pyproject.toml.\n{file.read_text()}")
    print(f"wrote {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
