"""The names of the testbed's images: where they are kept, and the public images that the base and Grafana are.

Needs the standard library only, so that `prerequisites` can ask for the base before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
from typing import Final

from emulator.model.project import PROJECT_ROOT

IMAGE_REPOSITORY: Final = "multicluster-testbed"
BASE_REPOSITORY: Final = f"{IMAGE_REPOSITORY}/base"

DEFAULT_PUBLIC_IMAGE: Final = "debian:bookworm-slim"
PINNED_BY: Final = "TESTBED_BASE_IMAGE"
"""Environment variable that pins the public image."""

PULLED_FROM: Final = "TESTBED_IMAGES"
"""Environment variable that names a registry's folder, such as ``registry.example:5000/group``."""

DEFAULT_GRAFANA_IMAGE: Final = "grafana/grafana:11.2.3"
GRAFANA_NAMED_BY: Final = "TESTBED_GRAFANA_IMAGE"
"""Environment variable that names another image of Grafana."""


def grafana_image() -> str:
    """Return the image of Grafana, which the project does not make."""
    return os.environ.get(GRAFANA_NAMED_BY) or DEFAULT_GRAFANA_IMAGE


def public_image() -> str:
    """Return the public image that the base is made from where it can be pulled."""
    return os.environ.get(PINNED_BY) or DEFAULT_PUBLIC_IMAGE


def base_reference() -> str:
    """Return the base's reference: its tag is the hash of its sources and of a pinned public image."""
    folder = PROJECT_ROOT / "images" / "base"
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir())))
    digest.update(os.environ.get(PINNED_BY, "").encode())
    return f"{BASE_REPOSITORY}:{digest.hexdigest()[:16]}"
