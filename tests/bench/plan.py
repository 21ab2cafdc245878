"""Run: ``python -m tests.bench.plan``. What the planner predicts, and what then happens, on a running `mini`.

Each matrix is measured by the verb itself at a stated dilation; what was predicted stands in the run's manifest beside
what the run showed. A prediction counts as good if it is within a factor of two of what happened; below a share of 1%
late phases are too few to tell two such shares apart, and both being below it counts as good, too. What happens in one
run of a cell differs by more than that from what happens in the next, so that only several runs say something
(``--repeat``), and no job is so short that its start is what shows. ``--proposed`` measures instead at the dilations
that the planner proposes, and prints their verdicts: none may be void.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTBED = Path(sys.executable).with_name("testbed")
FEW = 0.01
FACTOR = 2.0

STATED = (
    "--grid 400 --processors 8,16 --clusters 1,2,4 --iterations 400 --dilation 1",
    "--grid 4000 --processors 16 --clusters 1,2 --iterations 12 --dilation 1",
    "--grid 400,1000 --processors 16 --clusters 2,4 --iterations 150 --dilation 2",
    "--grid 100,400 --processors 16,32 --clusters 2,4 --iterations 150 --dilation 4",
    "--app laplace,heat --grid 400 --processors 16 --clusters 2,4 --iterations 40 --dilation 8",
    "--grid 100 --processors 4,16 --clusters 1,2 --iterations 100 --dilation 16",
)
PROPOSED = (
    "--grid 100 --processors 4 --clusters 1,2 --iterations 100",
    "--grid 400 --processors 8,16 --clusters 1,2,4 --iterations 60",
    "--grid 1000 --processors 16 --clusters 1,2,4 --iterations 40",
    "--grid 4000 --processors 16 --clusters 1,4 --iterations 12",
    "--app laplace --grid 400 --processors 16 --clusters 1,2 --iterations 60",
    "--app heat --grid 400 --processors 16 --clusters 1,2 --iterations 60",
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.plan")
    parser.add_argument("--name", default="testbed", help="the testbed to measure on, of the topology mini")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each cell")
    parser.add_argument("--numbers", type=int, nargs="+", help="these matrices only, the first being 1")
    parser.add_argument("--out", type=Path, help="keep the records of the runs there")
    parser.add_argument("--proposed", action="store_true", help="measure at the dilations proposed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.name, options.repeat, options.out or Path(folder), options.numbers)
        for line in bench.proposed() if options.proposed else bench.stated():
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


@dataclass(frozen=True)
class Bench:
    """Measurements on the testbed called `name`, `repeat` runs of each cell, their records in folders of `out`.

    Of the matrices only those of these `numbers` are measured (None: all).
    """

    name: str
    repeat: int
    out: Path
    numbers: Sequence[int] | None = None

    def stated(self) -> Iterator[str]:
        """A line for each cell, and one that counts the good predictions."""
        yield f"{'K':>4}  {'job':<34}  {'late: predicted':>15}  {'happened':>8}  {'ratio':>5}  {'CPU ratio':>9}"
        good = count = 0
        for number, matrix in self._chosen(STATED):
            manifest = self.measured(f"stated-{number}", f"{matrix} --even-if-hopeless")
            for outcome in manifest["plan"]["outcomes"][:-1]:
                predicted, happened = outcome["predicted_late_phase_share"], outcome["late_phase_share"]
                is_good = max(predicted, happened) < FEW or 1 / FACTOR <= predicted / max(happened, 1e-9) <= FACTOR
                good, count = good + is_good, count + 1
                ratio = f"{predicted / happened:.2f}" if happened else "-"
                yield (
                    f"{manifest['dilation']:>4g}  {outcome['name']:<34}  {predicted:>15.2%}  {happened:>8.2%}"
                    f"  {ratio:>5}  {outcome['predicted_host_cpu_s'] / outcome['host_cpu_s']:>9.2f}"
                    f"{'' if is_good else '  off'}"
                )
        yield f"{good} of {count} predictions of late phases within a factor of {FACTOR:g}"

    def proposed(self) -> Iterator[str]:
        """A line for each matrix: the dilation proposed, and the verdict of the run at it."""
        for number, matrix in self._chosen(PROPOSED):
            manifest = self.measured(f"proposed-{number}", matrix)
            total = manifest["plan"]["outcomes"][-1]
            late = f"{total['predicted_late_phase_share']:.1%} predicted, {total['late_phase_share']:.1%} happened"
            reasons = "; ".join(manifest["verdict_reasons"])
            yield f"{matrix}: dilation {manifest['dilation']:g}, late {late}: {manifest['verdict']} {reasons}"

    def _chosen(self, matrices: Sequence[str]) -> Iterator[tuple[int, str]]:
        numbered = enumerate(matrices, start=1)
        return (pair for pair in numbered if self.numbers is None or pair[0] in self.numbers)

    def measured(self, folder: str, arguments: str) -> dict[str, Any]:
        """The manifest of a measurement."""
        out = self.out / folder
        command = [str(TESTBED), "measure", *arguments.split(), "--repeat", str(self.repeat), "--name", self.name]
        ended = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=False)
        if ended.returncode:
            sys.exit(ended.stderr.strip())
        manifest: dict[str, Any] = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        return manifest


if __name__ == "__main__":
    main()
