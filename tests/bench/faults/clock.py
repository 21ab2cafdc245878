"""A wall clock that the testbed's own processes see and that can be set; the host's clock is never touched.

`clock_step.c` is compiled on this host, copied into each container and preloaded there, so it needs a C compiler and a
restart of the containers. A container that was made anew has it no more, and keeps the host's time.
"""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
import tarfile
import tempfile
from pathlib import Path

from emulator.model.errors import TestbedError
from tests.bench.faults.site import FaultySite

SOURCE = Path(__file__).with_name("clock_step.c")
FOLDER = "usr/local/lib/clock-step"
LIBRARY = f"{FOLDER}/clock_step.so"
STEP = f"{FOLDER}/step"
SET = """
import struct, sys
with open("/{step}", "r+b") as file:
    before = struct.unpack("<q", file.read(8))[0]
    file.seek(0)
    file.write(struct.pack("<q", before + int(float(sys.argv[1]) * 1e9)))
"""


def can_be_set() -> bool:
    """Return whether this host has a C compiler."""
    return shutil.which("cc") is not None


def install(site: FaultySite) -> None:
    """Preload the clock in every container of the testbed, and start them again."""
    library = _compiled()
    for part in parts(site):
        container = site.container(part)
        files = {LIBRARY: library, STEP: struct.pack("<q", 0), "etc/ld.so.preload": f"/{LIBRARY}\n".encode()}
        if not container.put_archive("/", _archive(files)):
            raise TestbedError(f"{part}: the clock could not be copied there.")
    for part in parts(site):
        site.container(part).restart(timeout=10)
    site.up()


def parts(site: FaultySite) -> list[str]:
    """Return the parts whose clock is set: all but the router, which has no use of the time of day."""
    return [*site.topology.cluster_names, "broker"]


def set_clock(site: FaultySite, host_by_s: float) -> None:
    """Set the wall clock of every part, by so many seconds.

    Raises:
        TestbedError: if a part was made anew since `install`.
    """
    for part in parts(site):
        site.run(part, "python3", "-c", SET.format(step=STEP), f"{host_by_s}")


def _compiled() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "clock_step.so")
        command = [
            "cc",
            "-O2",
            "-Wall",
            "-Wextra",
            "-shared",
            "-fPIC",
            f'-DSTEP="/{STEP}"',
            "-o",
            str(made),
            str(SOURCE),
        ]
        subprocess.run(command, check=True)
        return made.read_bytes()


def _archive(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
