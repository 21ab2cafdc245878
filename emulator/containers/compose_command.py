"""The Compose command of this host. Needs the standard library only."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Final

from emulator.model.errors import EngineUnavailable
from emulator.model.escapes import last_line

COMPOSE_COMMANDS: Final = (("docker", "compose"), ("docker-compose",))
"""The plugin of version 2, and the older program."""


def compose_command() -> tuple[str, ...]:
    """Return the Compose command of this host: the plugin of version 2 if it is installed, else docker-compose.

    Raises:
        EngineUnavailable: if there is neither.
    """
    plugin, program = COMPOSE_COMMANDS
    if compose_version(plugin) is not None:
        return plugin
    # The older program is not asked for its version, which takes it as long as a container.
    if shutil.which(program[0]) is not None:
        return program
    raise EngineUnavailable("Docker Compose is not installed (on Debian: `apt-get install docker-compose`).")


def compose_version(command: Sequence[str]) -> str | None:
    """Return the version that a Compose command reports, or None if it is not installed."""
    if shutil.which(command[0]) is None:
        return None
    answer = subprocess.run([*command, "version", "--short"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else None


def compose_refusal(command: Sequence[str], address: str) -> str:
    """Return the last line of a Compose command that cannot ask the engine at `address` anything; empty if it can."""
    environment = {**os.environ, "DOCKER_HOST": address}
    answer = subprocess.run([*command, "ls", "-q"], capture_output=True, text=True, check=False, env=environment)
    return "" if answer.returncode == 0 else last_line(answer.stderr)
