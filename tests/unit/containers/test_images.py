"""Image recipes: a tag that changes with every content and nothing else, and nothing built in but sources."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import docker.errors
import pytest

from emulator.containers import base_image, engine, image_contents, image_names, image_registry
from emulator.containers.broker_settings import PAGE_FOLDER
from emulator.containers.images import (
    Recipe,
    broker_recipe,
    ensure_images,
    node_recipe,
    prometheus_recipe,
    wan_recipe,
)
from emulator.model.errors import InvalidInput
from emulator.model.project import PROJECT_ROOT


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
    held = {place for place in node_recipe("x86_64").files if place.startswith("source/emulator")}
    names = ("__init__", "clock", "compilation", "errors", "point_costs", "units")
    shared = ("__init__", "arbiter", "local_work", "processor", "rates", "rules", "task")
    names += tuple(f"time_sharing/{name}" for name in shared)
    model = {f"source/emulator/model/{name}.py" for name in names}
    assert held == {"source/emulator/__init__.py", "source/emulator/containers/wan/probe.py", *model}


def test_the_broker_holds_no_package_from_a_higher_floor() -> None:
    sources = {Path(place) for place in broker_recipe("x86_64").files if place.startswith("source/emulator")}
    page = {place for place in sources if place.parts[2] == "page"}
    assert {place.parts[2] for place in sources - page} == {
        "__init__.py", "model", "policies", "clusters", "fidelity", "broker",
    }  # fmt: skip
    assert {place.parts[3] for place in page} == {"assets"}


def test_the_broker_finds_the_files_of_the_page_where_its_settings_say() -> None:
    places = {Path("/opt/testbed") / Path(place).relative_to("source") for place in broker_recipe("x86_64").files
              if place.startswith("source/")}  # fmt: skip
    assert PAGE_FOLDER / "index.html" in places


def test_the_broker_reads_descriptors_with_the_standard_library_alone(tmp_path: Path) -> None:
    for place, path in broker_recipe("x86_64").files.items():
        if place.startswith(("source/apps/", "source/emulator/__init__", "source/emulator/model/")):
            copy = tmp_path / Path(place).relative_to("source")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    script = (
        "from apps.registry import APPLICATIONS, all_updates, largest_share\n"
        "for name, descriptor in APPLICATIONS.items():\n"
        "    assert descriptor.objection(400, 4, {}) is None\n"
        "    if descriptor.has_grid: assert largest_share(name, 400, 4).updates <= all_updates(name, 400)\n"
    )
    # Without -S the packages of this environment would be found.
    subprocess.run([sys.executable, "-E", "-S", "-c", script], cwd=tmp_path, check=True, timeout=60)


def test_the_brokers_pinned_wheels_belong_to_its_images_tag() -> None:
    assert broker_recipe("x86_64").files["requirements.txt"] == PROJECT_ROOT / "images/broker/requirements.txt"


@pytest.mark.parametrize("of", [node_recipe, wan_recipe, broker_recipe, prometheus_recipe])
def test_an_image_for_other_processors_has_another_tag(of: Callable[[str], Recipe]) -> None:
    assert of("x86_64").tag("base") != of("aarch64").tag("base")


class Images:
    """The images of an engine that refuses to take a name off one as often as it is told."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.removed: list[str] = []

    def build(self, **options: object) -> tuple[str, list[object]]:
        return "an image", []

    def remove(self, name: str, *, force: bool, noprune: bool) -> None:
        if self.refusals > 0:
            self.refusals -= 1
            raise docker.errors.APIError("409 Client Error: Conflict: container 1a2b is using its referenced image")
        self.removed.append(name)


@pytest.mark.parametrize(("refusals", "removed"), [(0, ["x:1-unlabelled"]), (2, ["x:1-unlabelled"]), (1000, [])])
def test_an_image_is_whole_though_its_passing_name_is_in_use(
    refusals: int, removed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "output_of", lambda client, image, command: b"bash=5.2 slurmd=22.05 ")
    monkeypatch.setattr(image_contents, "_PAUSE_HOST_S", 0.0)
    images = Images(refusals)
    made = image_contents.label_contents(SimpleNamespace(images=images), "x:1-unlabelled", "x:1", {})
    assert (made, images.removed) == ("an image", removed)


def test_pinning_the_public_image_changes_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(image_names.PINNED_BY, raising=False)
    unpinned = image_names.base_reference()
    monkeypatch.setenv(image_names.PINNED_BY, "debian@sha256:" + 64 * "0")
    assert image_names.public_image() == "debian@sha256:" + 64 * "0"
    assert image_names.base_reference() != unpinned


@pytest.mark.parametrize("prefix", ["registry.example:5000/group", "localhost:5000/a/b", "docker.io/me"])
def test_an_image_has_its_own_name_in_a_folder_of_a_registry(prefix: str) -> None:
    assert image_registry.there(prefix, "multicluster-testbed/node:0a1b") == f"{prefix}/node:0a1b"


@pytest.mark.parametrize(
    "prefix",
    ["", "registry.example", "registry.example/", "/group", "registry.example/group:1", "Registry.example/group"],
)
def test_what_names_no_folder_of_a_registry_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidInput, match="is no folder of a registry: name one such as"):
        image_registry.there(prefix, "multicluster-testbed/node:0a1b")


class Registry:
    """An engine without images, and a registry that has those whose repository is in `held`; nothing can be built.

    The registry's images are for amd64, whatever `architecture` the engine has.
    """

    def __init__(self, held: set[str], architecture: str = "x86_64") -> None:
        self.held, self.here, self.images, self.architecture = held, set[str](), self, architecture

    def info(self) -> dict[str, str]:
        return {"Architecture": self.architecture}

    def get(self, reference: str) -> SimpleNamespace:
        if reference not in self.here:
            raise docker.errors.ImageNotFound(reference)
        return SimpleNamespace(tag=lambda repository, tag: self.here.add(f"{repository}:{tag}"))

    def pull(self, repository: str, tag: str) -> SimpleNamespace:
        if repository not in self.held:
            raise docker.errors.ImageNotFound(f"manifest for {repository}:{tag} not found")
        return SimpleNamespace(
            attrs={"Architecture": "amd64"}, tag=lambda repository, tag: self.here.add(f"{repository}:{tag}")
        )


def test_what_a_registry_has_is_pulled_and_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_IMAGES", "registry.example/group")
    client = Registry({f"registry.example/group/{name}" for name in ("node", "wan", "broker")})
    references = ensure_images(client, lambda step: None)
    assert client.here == {
        *(references.node, references.wan, references.broker),
        *(f"multicluster-testbed/{name}:dev" for name in ("node", "wan", "broker")),
    }


def test_an_image_for_other_processors_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_IMAGES", "registry.example/group")
    monkeypatch.setattr(base_image, "ensure", lambda client, observe: pytest.fail("the base is made"))
    client = Registry({f"registry.example/group/{name}" for name in ("node", "wan", "broker")}, "aarch64")
    said: list[str] = []
    with pytest.raises(pytest.fail.Exception, match="the base is made"):
        ensure_images(client, lambda step: said.append(step.detail))
    assert not client.here
    assert "registry.example/group/node is for processors of amd64 there; it is built" in said


def test_nothing_is_pulled_unless_a_registry_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TESTBED_IMAGES", raising=False)
    monkeypatch.setattr(base_image, "ensure", lambda client, observe: pytest.fail("the base is made"))
    client = Registry({f"registry.example/group/{name}" for name in ("node", "wan", "broker")})
    with pytest.raises(pytest.fail.Exception, match="the base is made"):
        ensure_images(client, lambda step: None)
    assert not client.here


def test_a_wrong_name_of_a_registry_is_refused_even_if_nothing_would_be_pulled(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Registry({f"registry.example/group/{name}" for name in ("node", "wan", "broker")})
    monkeypatch.setenv("TESTBED_IMAGES", "registry.example/group")
    ensure_images(client, lambda step: None)
    monkeypatch.setenv("TESTBED_IMAGES", "registry.example")
    with pytest.raises(InvalidInput, match=r"^'registry\.example' is no folder of a registry"):
        ensure_images(client, lambda step: None)


def test_what_a_registry_lacks_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_IMAGES", "registry.example/group")
    monkeypatch.setattr(base_image, "ensure", lambda client, observe: pytest.fail("the base is made"))
    said: list[str] = []
    with pytest.raises(pytest.fail.Exception, match="the base is made"):
        ensure_images(Registry({"registry.example/group/node"}), lambda step: said.append(step.detail))
    assert any("registry.example/group/wan is not to be had there" in text for text in said)
