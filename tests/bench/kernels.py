"""Run: ``python -m tests.bench.kernels``. Grid-point updates per second of each application's compiled kernel, of numpy
and of a bare C loop, in one run.

The kernels and the loops are compiled with the same options by the same compiler: that of the node image's compiler
stage, in a container of it, or with `--here` this host's, which then needs Cython. The contenders take turns, round by
round, so that a busy host slows them alike; time is the processor's; ratios are medians over the rounds. The sides are
those of one process's block of grids 400 and 4000 over 16 processes: in cache and out of it.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from apps.kernels.build import COMPILER_OPTIONS, build
from tests.bench.contenders import TABLE, Contenders

PROJECT_ROOT = Path(__file__).resolve().parents[2]
SIDES = (100, 1000)
POINTS_PER_ROUND = 10_000_000
AGREEMENT = 1e-12
CONTENDERS = ("compiled", "numpy", "bare_loop")


def compile_kernels(names: list[str], folder: Path) -> dict[str, ModuleType]:
    """The compiled kernels of these names, made in `folder`."""
    kernels = {}
    for name in names:
        source = Path(shutil.copy(PROJECT_ROOT / "apps" / "kernels" / f"{name}.pyx", folder))
        specification = importlib.util.spec_from_file_location(name, build(source))
        assert specification is not None
        assert specification.loader is not None
        kernels[name] = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(kernels[name])
    return kernels


def compile_bare_loops(folder: Path) -> ctypes.CDLL:
    """The bare loops, compiled as the kernels are."""
    library = folder / "bare_loops.so"
    source = Path(__file__).with_name("bare_loops.c")
    subprocess.run(["cc", *COMPILER_OPTIONS, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def rates(contenders: Contenders, side: int, rounds: int) -> dict[str, list[float]]:
    """Updates per second and round of each contender.

    Exits:
        if their values differ: a race of different updates would say nothing.
    """
    repeats = max(2, POINTS_PER_ROUND // side**2)
    updates: dict[str, Callable[[], object]] = {name: getattr(contenders, name) for name in CONTENDERS}
    for update in updates.values():
        update()
    if contenders.disagreement() > AGREEMENT:
        sys.exit(f"The contenders compute different values: they are {contenders.disagreement()} apart.")
    found: dict[str, list[float]] = {name: [] for name in updates}
    for _ in range(rounds):
        for name, update in updates.items():
            began_s = time.process_time()
            for _ in range(repeats):
                update()
            found[name].append(side**2 * repeats / (time.process_time() - began_s))
    return found


def report(application: str, side: int, found: dict[str, list[float]]) -> None:
    """One line: rates in millions a second, and the compiled kernel's ratio to each of the others."""
    medians = [statistics.median(found[name]) / 1e6 for name in CONTENDERS]
    ratios = [
        statistics.median(own / other for own, other in zip(found["compiled"], found[name], strict=True))
        for name in CONTENDERS[1:]
    ]
    numbers = "".join(f"{value:>12.1f}" for value in medians) + "".join(f"{value:>9.2f}x" for value in ratios)
    print(f"{application:<12}{side:>6}{numbers}")


def measure(applications: list[str], rounds: int) -> None:
    """Compile and measure on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        names = sorted({name for application in applications for name in TABLE[application].kernels})
        kernels, library = compile_kernels(names, Path(folder)), compile_bare_loops(Path(folder))
        print(f"compiler options: {shlex.join(COMPILER_OPTIONS)}", flush=True)
        print(f"{'':<12}{'':>6}{'million updates/s':>36}{'compiled against':>20}")
        print(f"{'application':<12}{'side':>6}{'compiled':>12}{'numpy':>12}{'C loop':>12}{'numpy':>10}{'C loop':>10}")
        for application in applications:
            for side in SIDES:
                contenders = TABLE[application].contenders(kernels, library, side)
                report(application, side, rates(contenders, side, rounds))


def measure_in_container(arguments: list[str]) -> int:
    """The same in a container of the node image's compiler stage."""
    import docker

    from emulator.containers.images import ensure_compiler_stage

    image = ensure_compiler_stage(docker.from_env(), lambda event: None)
    command = ["docker", "run", "--rm", "--network", "none", "-v", f"{PROJECT_ROOT}:/project:ro", "-w", "/project",
               "-e", "PYTHONDONTWRITEBYTECODE=1", image, "python3", "-m", "tests.bench.kernels", "--here"]  # fmt: skip
    return subprocess.run([*command, *arguments], check=False).returncode


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="kernels", description=str(__doc__).partition(". ")[2])
    parser.add_argument("applications", nargs="*", metavar="APPLICATION", help=f"of {', '.join(TABLE)} (all)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each contender (7)")
    parser.add_argument("--here", action="store_true", help="compile and run on this host, not in a container")
    options = parser.parse_args()
    unknown = sorted(set(options.applications) - set(TABLE))
    if unknown:
        parser.error(f"there is no application {unknown[0]}")
    if not options.here:
        return measure_in_container([*options.applications, "--rounds", str(options.rounds)])
    measure(options.applications or list(TABLE), options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
