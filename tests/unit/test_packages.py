"""The packages: the docstring of each is a map, which names every module and nothing else."""

from __future__ import annotations

import ast
import pkgutil
import re
from pathlib import Path

import pytest

from emulator.model.project import PROJECT_ROOT

WITHOUT_A_MAP = {
    "apps.kernels",
    "emulator.cli",
    "emulator.policies.placement",
    "emulator.policies.queues",
    "emulator.reports.exports",
}
"""The packages whose modules have the names of what each holds: a verb, a policy, a discipline, a format, an update."""

ROW = re.compile(r"^([a-z_]+(?:, [a-z_]+)*)  +\S", re.MULTILINE)
"""A line of a map: a module, or several, two spaces or more, and what is in it."""

FOLDERS = {
    ".".join(file.parent.relative_to(PROJECT_ROOT).parts): file.parent
    for root in ("apps", "emulator", "workloads")
    for file in sorted((PROJECT_ROOT / root).rglob("__init__.py"))
}


def named_in(folder: Path) -> list[str]:
    """Return the modules that the map of a package names; none if it has no map."""
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    return [name for names in ROW.findall(docstring) for name in names.split(", ")]


def test_packages_have_a_map_unless_the_names_of_their_modules_say_all():
    assert {package for package, folder in FOLDERS.items() if not named_in(folder)} == WITHOUT_A_MAP


@pytest.mark.parametrize("package", sorted(FOLDERS.keys() - WITHOUT_A_MAP))
def test_a_map_names_every_module_once_and_nothing_else(package):
    folder = FOLDERS[package]
    assert sorted(named_in(folder)) == sorted(module.name for module in pkgutil.iter_modules([str(folder)]))
