"""The table of verbs: its lines are the verbs' own, and its modules are loaded only where they are needed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.cli import verbs
from emulator.cli.main import app
from emulator.cli.verbs import VERBS, PackageMissing, load_verb
from emulator.model.project import PROJECT_ROOT


@pytest.mark.parametrize("name", VERBS)
def test_the_line_of_a_verb_begins_its_own_help(name):
    assert load_verb(name).help.split("\n\n")[0].replace("\n", " ") == VERBS[name].line


def test_help_names_every_verb_and_imports_none_of_them():
    script = (
        "import sys; from typer.testing import CliRunner; from emulator.cli.main import app\n"
        "print(CliRunner().invoke(app, ['--help']).stdout)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    found = subprocess.run([sys.executable, "-c", script], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    assert all(f" {name} " in found.stdout for name in VERBS)
    loaded = set(found.stderr.split())
    assert not loaded & {"docker", "matplotlib", "numpy", "pandas", "pydantic", "scipy"}
    assert not loaded & {f"emulator.cli.{name}" for name in VERBS}


def options(command) -> Iterator[object]:
    """Yield the options of `command` and of the commands below it."""
    yield from command.params
    for below in getattr(command, "commands", {}).values():
        yield from options(below)


@pytest.mark.parametrize("name", VERBS)
def test_the_help_of_an_option_says_which_number_or_time_it_means(name):
    helps = [help_text for option in options(load_verb(name)) if (help_text := getattr(option, "help", None))]
    assert [text for text in helps if re.search(r"\bso (many|much|long)\b", text)] == []


def commands(command) -> Iterator[object]:
    """Yield `command` and the commands below it."""
    yield command
    for below in getattr(command, "commands", {}).values():
        yield from commands(below)


@pytest.mark.parametrize("name", VERBS)
def test_no_help_has_words_in_brackets_which_rich_takes_for_markup_and_swallows(name):
    verb = load_verb(name)
    helps = [getattr(part, "help", None) or "" for part in (*commands(verb), *options(verb))]
    assert [text for text in helps if re.search(r"\[[a-z#/@]", text)] == []


@pytest.mark.parametrize("words", [["-h"], ["status", "-h"], ["campaign", "run", "-h"]])
def test_h_is_help(words):
    shown = CliRunner().invoke(app, words)
    assert (shown.exit_code, "Usage:" in shown.output) == (0, True)


def test_an_unknown_verb_is_refused_with_what_was_meant():
    refused = CliRunner().invoke(app, ["simulat"])
    assert refused.exit_code == 2
    assert "simulate" in refused.output


def test_a_missing_package_is_named_with_the_extra_that_installs_it(monkeypatch):
    monkeypatch.setattr(verbs, "import_module", lambda name: __import__("distributed_elsewhere"))
    with pytest.raises(PackageMissing, match=r"`testbed study` needs .*'distributed_elsewhere'.*\.\[sim\]"):
        CliRunner().invoke(app, ["study", "list"], catch_exceptions=False)
    monkeypatch.setattr(verbs, "import_module", lambda name: __import__("emulator.nothing"))
    with pytest.raises(ModuleNotFoundError):
        CliRunner().invoke(app, ["study", "list"], catch_exceptions=False)


def taken_from(file: Path) -> set[str]:
    """The modules of the command line that a file imports, at its top or later."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "emulator.cli":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("emulator.cli."):
            found.add(str(node.module).removeprefix("emulator.cli."))
    return found


def test_what_verbs_share_is_in_the_module_of_no_verb():
    taken = {file.name: taken_from(file) for file in (PROJECT_ROOT / "emulator" / "cli").glob("*.py")}
    assert "options" in taken["measure.py"]
    assert {name: found & set(VERBS) for name, found in taken.items() if found & set(VERBS)} == {}
