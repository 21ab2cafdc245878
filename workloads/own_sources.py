"""A campaign under policies of the user's own: what the files hold now goes with it, to the planner and the broker."""

from __future__ import annotations

from pathlib import Path

from emulator.model.errors import InvalidInput
from emulator.policies.own_code import source_at
from emulator.policies.registry import own_file
from workloads.campaign import Campaign


def carrying_sources(campaign: Campaign) -> Campaign:
    """`campaign` with the text of the files that its policy and queue point into, named without their folders.

    The files are read once: what is planned, decided and recorded is the same text, whatever becomes of them meanwhile.

    Raises:
        InvalidInput: if there is no such file, it is too large or no text, or two of one name lie in different folders.
    """
    sources: dict[str, str] = {}
    names: dict[str, str] = {}
    paths: dict[str, Path] = {}
    for key, name in (("policy", campaign.policy), ("queue", campaign.queue)):
        file = own_file(name)
        if file is None:
            continue
        path = Path(file)
        if paths.setdefault(path.name, path).resolve() != path.resolve():
            raise InvalidInput(f"{key}: {file} and {paths[path.name]} have the same name; rename one of them.")
        sources[path.name] = sources.get(path.name) or source_at(path)
        names[key] = f"{path.name}:{name.rpartition(':')[2]}"
    return campaign.changed(**names, sources=sources or None)
