"""A program for credentials that is missing or fails: one sentence for every pull, push and build."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest
from docker.credentials.errors import StoreError

from emulator.containers import base_image, doctor, image_registry
from emulator.containers.building import readable_credentials
from emulator.containers.images import Recipe, _build
from emulator.model.errors import EngineUnavailable

MISSING = "docker-credential-desktop not installed or not available in PATH"


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of Docker's client that names the program."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return tmp_path / "config.json"


def wrapped(*given: object, **options: object) -> None:
    """Fail as a pull, a push and a question to a registry do."""
    raise docker.errors.DockerException(f"Credentials store error: StoreError('{MISSING}')") from StoreError(MISSING)


def bare(*given: object, **options: object) -> None:
    """Fail as a build does."""
    raise StoreError(MISSING)


def absent(*given: object) -> None:
    raise docker.errors.ImageNotFound("no such image")


def engine_of(**images: Callable[..., object]) -> Any:
    """Return a double of an engine with these calls for images."""
    return SimpleNamespace(images=SimpleNamespace(**images), info=lambda: {"Architecture": "x86_64"})


@pytest.mark.parametrize("fail", [wrapped, bare])
def test_the_sentence_names_the_program_the_file_and_what_to_take_out_of_it(
    configuration: Path, fail: Callable[[], None]
) -> None:
    with pytest.raises(EngineUnavailable) as refused, readable_credentials():
        fail()
    assert str(refused.value) == (
        f"Docker's credentials for registries cannot be read: {MISSING} (take `credsStore` and `credHelpers` out of "
        f"{configuration}, or install or unlock that helper)."
    )


@pytest.mark.parametrize("error", [docker.errors.APIError("refused"), docker.errors.DockerException("x"), OSError("y")])
def test_other_errors_are_left_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as left, readable_credentials():
        raise error
    assert left.value is error


def test_the_base_is_not_made_another_way_because_no_build_succeeds_either() -> None:
    with pytest.raises(EngineUnavailable, match="cannot be read"):
        base_image.can_pull(engine_of(get=absent, pull=wrapped))


def test_an_image_of_a_registry_is_neither_pulled_nor_built(tmp_path: Path) -> None:
    reference = "multicluster-testbed/node:0a1b"
    with pytest.raises(EngineUnavailable, match="cannot be read"):
        image_registry.pull(engine_of(pull=wrapped), reference, "registry.example/group", lambda step: None)
    source = tmp_path / "Dockerfile"
    source.write_text("FROM base\n")
    with pytest.raises(EngineUnavailable, match="cannot be read"):
        _build(engine_of(build=bare), Recipe("node", {"Dockerfile": source}), "base", reference)


@pytest.mark.parametrize(("get", "needed"), [(absent, True), (lambda reference: None, False)])
def test_doctor_finds_it_and_a_testbed_needs_it_only_to_make_images(get: Callable[..., object], needed: bool) -> None:
    found = doctor._registry(engine_of(get=get, get_registry_data=wrapped))
    assert (found.ok, found.needed) == (False, needed)
    assert MISSING in found.remedy


def test_doctor_takes_any_other_refusal_for_a_registry_that_is_not_reached() -> None:
    def refuse(reference: str) -> None:
        raise docker.errors.DockerException("no such registry")

    found = doctor._registry(engine_of(get=absent, get_registry_data=refuse))
    assert (found.ok, found.needed) == (False, False)
    assert found.found.endswith("cannot be pulled")
