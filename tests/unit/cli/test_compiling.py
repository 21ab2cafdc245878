"""The simulator is compiled before its first use, once, and runs interpreted where that cannot be."""

from __future__ import annotations

import errno
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from emulator import compiled
from emulator.cli import compiling
from emulator.cli.main import app
from emulator.cli.study import DEFAULT_JOBS, DEFAULT_REPLICATIONS
from emulator.model.errors import TestbedError, UnknownName
from emulator.simulator import compile as compiler
from emulator.studies.simulation_study import Scale


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A process that has imported and compiled nothing; notes what it runs and installs."""
    seen = SimpleNamespace(commands=[], installed=0, returncode=0, errors="")
    monkeypatch.delenv(compiling.COMPILE_VARIABLE, raising=False)
    monkeypatch.setattr(compiled, "MODULES", ("no.such.module",))
    monkeypatch.setattr(compiled, "in_use", lambda: False)
    monkeypatch.setattr(compiled, "built_folder", lambda: tmp_path / "0123abcd")
    monkeypatch.setattr(compiled, "install", lambda: setattr(seen, "installed", seen.installed + 1))

    def run(command, **options):
        seen.commands.append(command)
        return SimpleNamespace(returncode=seen.returncode, stderr=seen.errors)

    monkeypatch.setattr(compiling.subprocess, "run", run)
    monkeypatch.setattr(compiling, "_what_lacks", lambda: "")
    return seen


def test_it_is_compiled_with_a_line_of_progress_and_then_used(fresh, capsys):
    compiling.compile_simulator()
    assert fresh.commands == [[sys.executable, "-m", "emulator.simulator.compile"]]
    assert fresh.installed == 1
    said = capsys.readouterr()
    assert (said.out, "compiling the simulator, once" in said.err) == ("", True)


def test_what_is_compiled_already_is_used_at_once(fresh, tmp_path, capsys):
    (tmp_path / "0123abcd").mkdir()
    compiling.compile_simulator()
    assert (fresh.commands, fresh.installed) == ([], 1)
    assert capsys.readouterr().err == ""


def test_a_process_that_runs_them_interpreted_goes_on_so(fresh, monkeypatch):
    monkeypatch.setattr(compiled, "MODULES", ("sys",))
    compiling.compile_simulator()
    assert (fresh.commands, fresh.installed) == ([], 0)


def test_without_a_compiler_one_sentence_says_so(fresh, monkeypatch, capsys):
    monkeypatch.setattr(compiling, "_what_lacks", lambda: "there is no C compiler 'cc'.")
    compiling.compile_simulator()
    assert (fresh.commands, fresh.installed) == ([], 0)
    assert capsys.readouterr().err.endswith("three to four times as long: there is no C compiler 'cc'.\n")


def test_what_compiling_lacks_is_said_before_the_minute_that_it_takes(tmp_path, monkeypatch):
    there = {"cc"}
    monkeypatch.setenv("CC", "cc -m64")
    monkeypatch.setattr(compiling, "find_spec", lambda module: module)
    monkeypatch.setattr(compiling.shutil, "which", lambda program: program if program in there else None)
    monkeypatch.setattr(compiling.sysconfig, "get_path", lambda name: str(tmp_path / name))
    assert compiling._what_lacks().startswith("Python's headers are missing (on Debian: `apt-get install python3-dev`)")
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "Python.h").touch()
    assert compiling._what_lacks() == ""
    there.clear()
    assert compiling._what_lacks().startswith("there is no C compiler 'cc'")


def test_a_failure_is_said_and_not_repeated(fresh, capsys):
    fresh.returncode, fresh.errors = 1, "warning\nThe sources could not be compiled (no Python.h)."
    compiling.compile_simulator()
    compiling.compile_simulator()
    assert (len(fresh.commands), fresh.installed) == (1, 0)
    assert capsys.readouterr().err.count("no Python.h") == 2


def test_an_empty_note_of_a_failure_is_none(fresh, tmp_path):
    (tmp_path / "0123abcd.failed").touch()
    compiling.compile_simulator()
    assert (len(fresh.commands), fresh.installed) == (1, 1)


def test_a_full_disk_leaves_no_note_of_a_failure(fresh, tmp_path, monkeypatch, capsys):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    fresh.returncode, fresh.errors = 1, "no space"
    compiling.compile_simulator()
    assert list(tmp_path.iterdir()) == []
    assert "no space" in capsys.readouterr().err


def test_two_processes_at_once_compile_once(tmp_path, monkeypatch):
    built = []

    def build(made, objects):
        built.append(made)
        time.sleep(0.2)
        made.mkdir()

    monkeypatch.setattr(compiler, "_build", build)
    monkeypatch.setattr(compiler, "built_folder", lambda: tmp_path / ".compiled" / "0123abcd")
    with ThreadPoolExecutor(2) as both:
        folders = list(both.map(lambda _: compiler.compile_sources(lambda sentence: None), range(2)))
    assert folders[0] == folders[1]
    assert folders[0].is_dir()
    assert len(built) == 1


def test_the_options_of_study_default_to_its_scale():
    assert Scale() == Scale(DEFAULT_JOBS, DEFAULT_REPLICATIONS)


@pytest.mark.parametrize("verb", ["simulate", "sweep"])
@pytest.mark.parametrize(("option", "name"), [("policy", "wff"), ("queue", "eassy")])
def test_a_mistyped_name_is_said_before_anything_is_compiled(fresh, verb, option, name):
    spelled = {"policy": "policies", "queue": "queues"}[option] if verb == "sweep" else option
    refused = CliRunner().invoke(app, [verb, "first", f"--{spelled}", name])
    assert isinstance(refused.exception, UnknownName)
    assert f"There is no {option} '{name}'" in str(refused.exception)
    assert fresh.commands == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["simulate", "EMPTY"], "empty.yaml"),
        (["simulate", "nothing-such"], "There is no workload 'nothing-such'"),
        (["simulate", "first", "--topology", "nope"], "There is no topology 'nope'"),
        (["simulate", "--like", "FOLDER"], "no run"),
        (["sweep", "first", "--topology", "nope"], "There is no topology 'nope'"),
        (["sweep", "first", "--loads", "0.9:0.1:0.2"], "--loads"),
        (["study", "nothing-such"], "There is no study 'nothing-such'"),
    ],
)
def test_what_is_wrong_with_the_input_is_said_before_anything_is_compiled(fresh, tmp_path, words, said):
    (tmp_path / "empty.yaml").write_text("")
    places = {"EMPTY": str(tmp_path / "empty.yaml"), "FOLDER": str(tmp_path)}
    refused = CliRunner().invoke(app, [places.get(word, word) for word in words])
    assert isinstance(refused.exception, TestbedError)
    assert said in str(refused.exception)
    assert fresh.commands == []
