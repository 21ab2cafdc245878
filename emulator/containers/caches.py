"""Where things that can be fetched again are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder for them ($XDG_CACHE_HOME/multicluster-testbed), made if it is not there."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(home) / "multicluster-testbed"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
