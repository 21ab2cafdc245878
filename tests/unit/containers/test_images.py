"""Image recipes: a tag that changes with every content and nothing else, and nothing built in but sources."""

import tomllib
from pathlib import Path

from emulator.containers.images import Recipe, broker_recipe, node_recipe
from emulator.containers.wheels import broker_requirements
from emulator.model.house import HOUSE


def recipe(folder: Path, content: str, decided_by: str = "") -> Recipe:
    path = folder / "entry.py"
    path.write_text(content)
    return Recipe("node", {"entry.py": path}, decided_by)


def test_equal_contents_have_equal_tags_whenever_they_were_written(tmp_path: Path) -> None:
    assert recipe(tmp_path, "one").tag("base:1") == recipe(tmp_path, "one").tag("base:1")


def test_the_tag_changes_with_a_file_with_the_base_and_with_the_requirements(tmp_path: Path) -> None:
    tags = {
        recipe(tmp_path, "one").tag("base:1"),
        recipe(tmp_path, "two").tag("base:1"),
        recipe(tmp_path, "one").tag("base:2"),
        recipe(tmp_path, "one", "fastapi").tag("base:1"),
    }
    assert len(tags) == 4


def test_the_tag_changes_when_a_file_moves(tmp_path: Path) -> None:
    path = tmp_path / "entry.py"
    path.write_text("one")
    assert Recipe("node", {"a": path}).tag("base") != Recipe("node", {"b": path}).tag("base")


def test_a_node_holds_of_the_emulator_only_what_runs_inside_it() -> None:
    held = {place for place in node_recipe().files if place.startswith("source/emulator")}
    model = {f"source/emulator/model/{name}.py" for name in ("__init__", "clock", "errors", "units")}
    assert held == {"source/emulator/__init__.py", "source/emulator/containers/wan/probe.py", *model}


def test_the_broker_holds_no_package_from_a_higher_floor() -> None:
    places = {Path(place).parts[2] for place in broker_recipe("x86_64").files if place.startswith("source/emulator")}
    assert places == {"__init__.py", "model", "policies", "clusters", "fidelity", "broker"}


def test_the_brokers_requirements_are_those_of_the_distribution() -> None:
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]
    assert broker_requirements() == sorted(project["optional-dependencies"]["broker"])
