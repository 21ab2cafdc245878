"""Sources of a user's policies, which a campaign carries to the planner and the broker."""

from __future__ import annotations

from pathlib import Path

from emulator.model.errors import InvalidInput
from emulator.policies.custom_code import source_at
from emulator.policies.names import custom_file
from workloads.campaign import Campaign


def carrying_sources(campaign: Campaign) -> Campaign:
    """Return `campaign` with the text of the files of its policy and queue, named without their folders.

    The files are read once. Planning, decisions and records use that text, even if the files change later.

    Raises:
        InvalidInput: if a file does not exist, is too large or is no text, or two files in different folders have the
            same name.
    """
    sources: dict[str, str] = {}
    names: dict[str, str] = {}
    paths: dict[str, Path] = {}
    for key, name in (("policy", campaign.policy), ("queue", campaign.queue)):
        file = custom_file(name)
        if file is None:
            continue
        path = Path(file)
        if paths.setdefault(path.name, path).resolve() != path.resolve():
            raise InvalidInput(f"{key}: {file} and {paths[path.name]} have the same name; rename one of them.")
        sources[path.name] = sources.get(path.name) or source_at(path)
        names[key] = f"{path.name}:{name.rpartition(':')[2]}"
    return campaign.changed(**names, sources=sources or None)
