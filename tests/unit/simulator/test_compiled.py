"""Compiled twins: the same results as the interpreted sources, and out of use once a source has changed."""

import subprocess
import sys
from enum import StrEnum
from types import ModuleType

from emulator import compiled
from emulator.model.request import RequestKind
from emulator.simulator import simulate
from tests.unit.simulator.test_engine import random_jobs

INTERPRETED = """
import sys
import emulator.compiled
sys.meta_path[:] = [it for it in sys.meta_path if not isinstance(it, emulator.compiled.CompiledFinder)]
from emulator.simulator import engine, simulate
from tests.unit.simulator.test_engine import random_jobs
assert engine.__file__.endswith(".py")
for queue in ("gs", "ls-do", "ls-rd", "lp-rd", "gp", "placement"):
    result = simulate(random_jobs(9), clusters=[32] * 4, queue=queue, runtime=1.25, keep_jobs=True, seed=4)
    print(repr(result.finished), repr(result.statistics))
"""


def test_compiled_and_interpreted_sources_agree_to_the_last_byte():
    """Where nothing has been compiled, two processes that interpret them do."""
    ran = subprocess.run(
        [sys.executable, "-c", INTERPRETED], cwd=compiled.PROJECT_ROOT, capture_output=True, text=True, check=True
    )
    for line, queue in zip(ran.stdout.splitlines(), ("gs", "ls-do", "ls-rd", "lp-rd", "gp", "placement"), strict=True):
        result = simulate(random_jobs(9), clusters=[32] * 4, queue=queue, runtime=1.25, keep_jobs=True, seed=4)
        assert line == f"{result.finished!r} {result.statistics!r}"


def test_the_fingerprint_is_that_of_the_sources(tmp_path, monkeypatch):
    for source in (*compiled.SOURCES, *compiled._READ_BY_THEM):
        target = tmp_path / source
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((compiled.PROJECT_ROOT / source).read_bytes())
    here = compiled.fingerprint()
    monkeypatch.setattr(compiled, "PROJECT_ROOT", tmp_path)
    assert compiled.fingerprint() == here
    with (tmp_path / compiled.SOURCES[-1]).open("a") as text:
        text.write("# changed\n")
    assert compiled.fingerprint() != here


def test_nothing_is_installed_after_a_module_has_been_imported(monkeypatch, tmp_path):
    """Compiled modules know each other's layout, so it is all of them or none."""
    monkeypatch.setattr(compiled, "_BUILT", tmp_path)
    (tmp_path / compiled.fingerprint()).mkdir()
    before = list(sys.meta_path)
    compiled.install()
    assert sys.meta_path == before


def test_a_compiled_module_has_the_docstrings_of_its_source(tmp_path):
    """Mypyc replaces those of enumerations by a filler, which the schemas of documents would show."""
    source = tmp_path / "source.py"
    source.write_text('class Kind:\n    """A kind of thing."""\n\n\nclass Other:\n    """Another."""\n')
    module = ModuleType("source")
    module.Kind = StrEnum("Kind", ["ONE"])
    module.Kind.__doc__ = "mypyc filler docstring"
    module.Other = type("Other", (), {"__doc__": "Its own."})
    compiled.restore_docstrings(module, source)
    assert (module.Kind.__doc__, module.Other.__doc__) == ("A kind of thing.", "Its own.")
    assert RequestKind.__doc__ == "The kind of a request: which choices of a placement are left to the scheduler."
