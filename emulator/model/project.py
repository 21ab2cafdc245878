"""The folders of the documents that come with the testbed, and the search for a document by name."""

from __future__ import annotations

from pathlib import Path

from emulator.model.errors import UnknownName

PROJECT_ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds ``emulator/``, ``compose/``, ``images/``, ``apps/`` and ``workloads/``."""

PROCESSORS = PROJECT_ROOT / "compose" / "processors"
"""The folder of the processor profiles."""


def locate(kind: str, name_or_path: str, folder: Path) -> Path:
    """Find the file that `name_or_path` means: an existing file, or ``NAME.yaml`` in `folder`.

    Raises:
        UnknownName: if there is no such file; the message lists the names that exist.
    """
    path = Path(name_or_path)
    if path.suffix in {".yaml", ".yml", ".json"} or path.parent != Path():
        if path.is_file():
            return path
        raise UnknownName(f"There is no {kind} file {name_or_path!r}.")
    shipped = folder / f"{name_or_path}.yaml"
    if not shipped.is_file():
        raise UnknownName.among(kind, name_or_path, sorted(file.stem for file in folder.glob("*.yaml")))
    return shipped
