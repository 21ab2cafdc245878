"""A user's files, copied into the home folder of the account that runs jobs in the clusters' containers."""

from __future__ import annotations

import stat
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Final

import docker.errors

from emulator.containers.hosts.engines import Client
from emulator.containers.names import USER
from emulator.model.errors import EngineUnavailable, InvalidInput, TestbedNotUp

HOME: Final = PurePosixPath("/home") / USER
_USER_NUMBER: Final = 1000
"""The account's number (images/node/Dockerfile)."""
_EXECUTABLE, _READABLE = 0o755, 0o644


def check_files(files: Sequence[Path]) -> None:
    """Check that every one of `files` can be copied.

    Raises:
        InvalidInput: if one does not exist, is a folder, cannot be read, or has the name of another.
    """
    named: dict[str, Path] = {}
    for file in files:
        if file.is_dir():
            raise InvalidInput(
                f"{file}: is a folder; name files (or pack it: tar cf {file.resolve().name}.tar {file})."
            )
        if not file.is_file():
            raise InvalidInput(f"{file}: there is no such file.")
        if file.name in named:
            raise InvalidInput(f"{file}: would replace {named[file.name]} in the home folder (rename one of them).")
        named[file.name] = file


def put_files(client: Client, container: str, archive: IO[bytes]) -> None:
    """Copy the files of an `archive` of `packed` into the home folder in a cluster's container.

    Raises:
        TestbedNotUp: if the container does not run.
        EngineUnavailable: if the engine refuses.
    """
    try:
        found = client.containers.get(container)
        if found.status != "running":
            raise TestbedNotUp(f"The container {container} is {found.status} (mend the testbed with `testbed up`).")
        archive.seek(0)
        found.put_archive(str(HOME), archive)
    except docker.errors.NotFound as error:
        raise TestbedNotUp(f"The container {container} is gone (renew the testbed with `testbed up`).") from error
    except docker.errors.APIError as error:
        raise EngineUnavailable(f"The files could not be copied into {container}: {error.explanation}.") from error


@contextmanager
def packed(files: Sequence[Path]) -> Iterator[IO[bytes]]:
    """Yield an archive of `files` without their folders; they belong to the account, and keep their executable bit.

    Raises:
        InvalidInput: if one cannot be read.
    """
    with tempfile.TemporaryFile() as content:
        with tarfile.open(fileobj=content, mode="w") as archive:
            for file in files:
                _add(archive, file)
        yield content


def _add(archive: tarfile.TarFile, file: Path) -> None:
    entry = tarfile.TarInfo(file.name)
    entry.uid = entry.gid = _USER_NUMBER
    try:
        with file.open("rb") as content:
            found = file.stat()
            entry.size, entry.mtime = found.st_size, int(found.st_mtime)
            entry.mode = _EXECUTABLE if found.st_mode & stat.S_IXUSR else _READABLE
            archive.addfile(entry, content)
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read ({error.strerror or error}).") from error
