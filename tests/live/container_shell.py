"""Commands in a container whose output is whole: the engine loses all output of one in some thousands."""

from __future__ import annotations

from docker.models.containers import Container

WHOLE = "that-was-all"
TRIES = 5


def output_in(container: Container, command: str, user: str = "") -> str:
    """Return what a bash command prints, stripped; the command runs again if the engine lost that."""
    for _ in range(TRIES):
        ran = container.exec_run(["bash", "-c", f'bash -c "$1"; echo {WHOLE}', "bash", command], user=user)
        said = ran.output.decode().rstrip()
        if said.endswith(WHOLE):
            return said.removesuffix(WHOLE).strip()
    raise AssertionError(f"{container.name}: the output of {command!r} was lost {TRIES} times")
