"""The testbed's images: what goes into each, and pulling or building those whose contents changed.

An image's tag is the hash of everything that it is made of, its base's tag and the architecture included: an image that
exists under its tag is up to date, and a build with nothing to do only reads the sources. Each is also tagged ``dev``.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import docker
import docker.errors

from emulator.containers import base_image, wheels
from emulator.containers.building import last_lines, proxy_arguments, readable_credentials
from emulator.containers.concurrency import run_concurrently
from emulator.containers.image_contents import IMAGE_LABEL, label_contents
from emulator.containers.image_names import IMAGE_REPOSITORY, base_reference
from emulator.containers.image_registry import architecture_of, named_folder, pull, push
from emulator.containers.progress import Observer, ProgressStep
from emulator.containers.rendering import ImageReferences
from emulator.containers.state import MAKING_IMAGES, exclusive
from emulator.model.errors import EngineUnavailable
from emulator.model.project import PROJECT_ROOT

LATEST: Final = "dev"
_TAG_LENGTH: Final = 16
_BUILT: Final = (".so", ".pyc")
_BROKER_PACKAGES: Final = ("model", "policies", "clusters", "fidelity", "broker")
_BROKER_APPS: Final = ("__init__", "basin", "descriptor", "ensemble", "grid", "registry")
_NODE_MODEL: Final = ("__init__", "clock", "compilation", "errors", "point_costs", "units")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The sources of an image: files by their path in the build's context.

    `late` returns files that are fetched only when the image is built; `decided_by` represents them in the tag.
    """

    name: str
    files: dict[str, Path]
    decided_by: str = ""
    late: Callable[[], dict[str, Path]] = field(default=dict)

    def tag(self, base: str) -> str:
        """Return the image's tag if it is built on `base`."""
        digest = hashlib.sha256(f"{base}\n{self.decided_by}\n".encode())
        for place, path in sorted(self.files.items()):
            digest.update(f"{place}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()[:_TAG_LENGTH]


def node_recipe(architecture: str) -> Recipe:
    """Return the recipe of a cluster: entry point, applications, and the modules of the emulator that run in a node.

    `architecture` is that of the processors that it is for, as the engine calls it (``x86_64``). Here and in the other
    recipes it is a part of the tag, so that no registry gives an image to a machine that cannot run it.
    """
    sources = [PROJECT_ROOT / "emulator" / "__init__.py", PROJECT_ROOT / "emulator" / "containers" / "wan" / "probe.py"]
    sources += [PROJECT_ROOT / "emulator" / "model" / f"{module}.py" for module in _NODE_MODEL]
    sources += sorted((PROJECT_ROOT / "emulator" / "model" / "time_sharing").glob("*.py"))
    inside = {f"source/{path.relative_to(PROJECT_ROOT)}": path for path in sources}
    files = _folder("images/node") | _folder("apps", "source/apps") | inside
    return Recipe("node", files, decided_by=architecture)


def wan_recipe(architecture: str) -> Recipe:
    """Return the recipe of the router."""
    return Recipe("wan", _folder("images/wan"), decided_by=architecture)


def broker_recipe(architecture: str) -> Recipe:
    """Return the recipe of the broker: its pinned wheels, its package, lower ones, the page's files, descriptors."""
    sources = {"source/emulator/__init__.py": PROJECT_ROOT / "emulator" / "__init__.py"}
    for package in _BROKER_PACKAGES:
        sources |= _folder(f"emulator/{package}", f"source/emulator/{package}")
    sources |= _folder("emulator/page/assets", "source/emulator/page/assets")
    sources |= {f"source/apps/{module}.py": PROJECT_ROOT / "apps" / f"{module}.py" for module in _BROKER_APPS}
    requirements = PROJECT_ROOT / "images" / "broker" / "requirements.txt"

    def fetched() -> dict[str, Path]:
        return {f"wheels/{path.name}": path for path in wheels.fetch(requirements, architecture)}

    return Recipe("broker", _folder("images/broker") | sources, decided_by=architecture, late=fetched)


def ensure_images(client: docker.DockerClient, observe: Observer) -> ImageReferences:
    """Pull or build the images that do not exist yet; return references to their current versions.

    Raises:
        EngineUnavailable: if one cannot be built.
        InvalidInput: if the environment names no folder of a registry.
    """
    # One process at a time, since all make an image under the same passing name.
    folder = named_folder()
    with exclusive(MAKING_IMAGES, wait=True):
        references = current_references(client)
        if all(_is_here(client, each, folder, observe) for each in astuple(references)):
            for each in astuple(references):
                client.images.get(each).tag(each.rpartition(":")[0], tag=LATEST)
            return references
        base = base_image.ensure(client, observe)
        made = [partial(_ensure, client, recipe, base, observe) for recipe in _recipes(client)]
        node, wan, broker = run_concurrently(made)
    return ImageReferences(node=node, wan=wan, broker=broker)


def ensure_base(client: docker.DockerClient, observe: Observer) -> str:
    """Build the base of all images if it is not here; return its reference.

    Raises:
        EngineUnavailable: if it cannot be built.
    """
    with exclusive(MAKING_IMAGES, wait=True):
        return base_image.ensure(client, observe)


def push_images(client: docker.DockerClient, references: ImageReferences, prefix: str, observe: Observer) -> list[str]:
    """Push the images to the registry's folder `prefix`; return their references there.

    Raises:
        InvalidInput: if `prefix` names no folder of a registry.
        EngineUnavailable: if the registry does not take one.
    """
    return [push(client, each, prefix, observe) for each in astuple(references)]


def _is_here(client: docker.DockerClient, reference: str, folder: str, observe: Observer) -> bool:
    """Return whether an image is on this engine, pulled from a registry's `folder` if one is named."""
    try:
        client.images.get(reference)
    except docker.errors.ImageNotFound:
        return bool(folder) and pull(client, reference, folder, observe)
    return True


def prometheus_recipe(architecture: str) -> Recipe:
    """Return the recipe of the monitor's Prometheus."""
    return Recipe("prometheus", _folder("images/prometheus"), decided_by=architecture)


def ensure_prometheus(client: docker.DockerClient, observe: Observer) -> str:
    """Build the image of Prometheus if it does not exist; return its reference.

    Raises:
        EngineUnavailable: if it cannot be built.
    """
    with exclusive(MAKING_IMAGES, wait=True):
        recipe = prometheus_recipe(architecture_of(client))
        return _ensure(client, recipe, base_image.ensure(client, observe), observe)


def ensure_compiler_stage(client: docker.DockerClient, observe: Observer) -> str:
    """Build the stage of the node image that holds the compiler of the kernels but no sources; return its reference.

    Raises:
        EngineUnavailable: if it cannot be built.
    """
    base, recipe = base_image.ensure(client, observe), node_recipe(architecture_of(client))
    reference = f"{IMAGE_REPOSITORY}/{recipe.name}-compiler:{LATEST}"
    _build(client, recipe, base, reference, stage="compiler")
    return reference


def current_references(client: docker.DockerClient) -> ImageReferences:
    """Return the references that the images would have if they were built from the present sources. Build nothing."""
    base = base_reference()
    node, wan, broker = (f"{IMAGE_REPOSITORY}/{recipe.name}:{recipe.tag(base)}" for recipe in _recipes(client))
    return ImageReferences(node=node, wan=wan, broker=broker)


def _recipes(client: docker.DockerClient) -> tuple[Recipe, Recipe, Recipe]:
    """Return the recipes of node, router and broker for the processors of an engine."""
    architecture = architecture_of(client)
    return node_recipe(architecture), wan_recipe(architecture), broker_recipe(architecture)


def _ensure(client: docker.DockerClient, recipe: Recipe, base: str, observe: Observer) -> str:
    repository = f"{IMAGE_REPOSITORY}/{recipe.name}"
    reference = f"{repository}:{recipe.tag(base)}"
    try:
        image = client.images.get(reference)
    except docker.errors.ImageNotFound:
        observe(ProgressStep("images", f"building {repository}"))
        unlabelled = f"{reference}-unlabelled"
        _build(client, recipe, base, unlabelled)
        image = label_contents(client, unlabelled, reference, {IMAGE_LABEL: recipe.name})
        observe(ProgressStep("images", f"built {repository}"))
    image.tag(repository, tag=LATEST)
    return reference


def _build(client: docker.DockerClient, recipe: Recipe, base: str, reference: str, stage: str | None = None) -> None:
    context = _context(recipe.files | recipe.late())
    try:
        with readable_credentials():
            client.images.build(
                fileobj=context,
                custom_context=True,
                encoding="gzip",
                tag=reference,
                target=stage,
                buildargs={"BASE": base, **proxy_arguments()},
                rm=True,
                forcerm=True,
            )
    except docker.errors.BuildError as error:
        raise EngineUnavailable(f"The image {reference} could not be built: {last_lines(error)}") from error
    except docker.errors.APIError as error:
        raise EngineUnavailable(f"The image {reference} could not be built: {error.explanation}.") from error


def _context(files: dict[str, Path]) -> io.BytesIO:
    """Pack the files without times or owners, so that equal contents hit Docker's build cache."""
    content = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=content, mode="wb", compresslevel=1, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for place, path in sorted(files.items()):
            data = path.read_bytes()
            entry = tarfile.TarInfo(place)
            entry.size = len(data)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(data))
    content.seek(0)
    return content


def _folder(folder: str, place: str = "") -> dict[str, Path]:
    """Map the sources below a folder of the project to their paths below `place` in the context."""
    return {
        str(Path(place) / path.relative_to(PROJECT_ROOT / folder)): path for path in _sources(PROJECT_ROOT / folder)
    }


def _sources(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        made_by_cython = path.suffix == ".c" and path.with_suffix(".pyx").exists()
        if path.is_file() and path.suffix not in _BUILT and not made_by_cython:
            yield path
