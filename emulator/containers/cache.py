"""The folder of what can be fetched again. Needs the standard library only."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder of downloads that can be fetched again, and make it if necessary."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(home) / "multicluster-testbed"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
