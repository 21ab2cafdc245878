"""Pictures that an executed notebook shows: those of its cells with a tag ``picture-NAME``."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Final

TAG: Final = "picture-"


def write_notebook_pictures(notebooks: Path, folder: Path) -> None:
    """Write the PNG of every tagged cell of the notebooks in a folder, under the name in its tag."""
    for path in sorted(notebooks.glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for tag in cell["metadata"].get("tags", ()):
                if tag.startswith(TAG):
                    (picture,) = (output["data"]["image/png"] for output in cell["outputs"] if "data" in output)
                    (folder / f"{tag.removeprefix(TAG)}.png").write_bytes(base64.b64decode(picture))
