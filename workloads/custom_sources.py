"""Sources of a user's policies, which a campaign carries to the planner, the broker and the records."""

from __future__ import annotations

from pathlib import Path

from emulator.model.errors import InvalidInput
from emulator.policies.custom_code import source_at
from emulator.policies.names import custom_file, plain_name
from workloads.campaign import Campaign


def carrying_sources(campaign: Campaign) -> Campaign:
    """Return `campaign` with the text of the files of its policy and queue, named without their folders.

    The files are read once. Planning, decisions and records use that text, even if the files change later.

    Raises:
        InvalidInput: if a file does not exist, is too large or is no text, or two files in different folders have the
            same name.
    """
    sources = sources_of(campaign.policy, campaign.queue)
    if not sources:
        return campaign
    return campaign.changed(policy=plain_name(campaign.policy), queue=plain_name(campaign.queue), sources=sources)


def sources_of(policy: str, queue: str) -> dict[str, str]:
    """Return the text of the files that a policy and a queue name, by the names of the files without their folders.

    Raises:
        InvalidInput: if a file does not exist or is no text, or two files in different folders have the same name.
    """
    sources: dict[str, str] = {}
    paths: dict[str, Path] = {}
    for key, name in (("policy", policy), ("queue", queue)):
        file = custom_file(name)
        if file is None:
            continue
        path = Path(file)
        if paths.setdefault(path.name, path).resolve() != path.resolve():
            raise InvalidInput(f"{key}: {file} and {paths[path.name]} have the same name; rename one of them.")
        sources[path.name] = sources.get(path.name) or source_at(path)
    return sources
