"""The compilation of the Cython sources of this directory, in place: `python3 apps/kernels/build.py`.

Needs Cython, a C compiler, Python's and MPI's headers, and nothing else; it runs in a build stage of the node image.
The code is for the architecture's baseline, because an image must run on hosts other than the one that built it.
"""

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

COMPILER_OPTIONS = ["-O3", "-fPIC", "-shared", "-fno-strict-aliasing", "-ffp-contract=off", "-Wall"]


def build(source: Path) -> Path:
    """Compile one Cython source into an extension module beside it and return the module's path."""
    c_source = source.with_suffix(".c")
    module = source.with_name(source.stem + str(sysconfig.get_config_var("EXT_SUFFIX")))
    compiler = shlex.split(os.environ.get("CC", "cc"))
    headers = sysconfig.get_path("include")
    options = [*COMPILER_OPTIONS, f"-I{headers}", f"-I{source.parent}"]
    try:
        subprocess.run([sys.executable, "-m", "cython", "-3", str(source), "-o", str(c_source)], check=True)
        subprocess.run([*compiler, *options, str(c_source), "-o", str(module), *mpi_options(source)], check=True)
    finally:
        c_source.unlink(missing_ok=True)
    return module


def mpi_options(source: Path) -> list[str]:
    """Return the compiler options for MPI's headers and library, if the source uses them."""
    if '"mpi.h"' not in source.read_text(encoding="utf-8"):
        return []
    shown = [
        subprocess.run(["mpicc", f"--showme:{what}"], capture_output=True, text=True, check=True).stdout
        for what in ("compile", "link")
    ]
    return shlex.split(" ".join(shown))


def main() -> None:
    """Build every kernel of this directory."""
    for source in sorted(Path(__file__).resolve().parent.glob("*.pyx")):
        sys.stdout.write(f"{build(source)}\n")


if __name__ == "__main__":
    main()
