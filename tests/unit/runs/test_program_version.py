"""Which program made a run: equal sources have equal digests, a clone has its commit, and nothing names a folder."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from emulator.model.project import PROJECT_ROOT
from emulator.runs.program_version import commit_of, program_version, sources_digest
from emulator.runs.surroundings import versions


def write(root: Path, place: str, text: str = "1\n") -> None:
    file = root / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def git(folder: Path, *words: str) -> str:
    stated = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    command = ["git", "-C", str(folder), *stated, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a folder that holds a small program."""
    root = tmp_path / "program"
    write(root, "emulator/main.py")
    write(root, "apps/kernels/heat.pyx")
    write(root, "images/node/run.sh")
    return root


def test_a_copy_of_a_program_has_its_digest_whatever_else_lies_there(program: Path, tmp_path: Path) -> None:
    digest = sources_digest(program)
    for place in ("docs/page.md", "tests/test_main.py", "compose/mine.yaml"):
        write(program, place)
    for place in ("__pycache__/main.cpython-311.pyc", ".checkpoints/main.py", "notes.txt"):
        write(program, f"emulator/{place}")
    write(program, "apps/kernels/heat.c")  # as Cython makes it
    assert sources_digest(program) == digest
    assert sources_digest(program.rename(tmp_path / "elsewhere")) == digest


@pytest.mark.parametrize("place", ["emulator/main.py", "apps/kernels/heat.pyx", "emulator/more.py", "apps/rank.c"])
def test_a_program_with_other_words_or_one_more_file_has_another_digest(program: Path, place: str) -> None:
    digest = sources_digest(program)
    write(program, place, "2\n")
    assert sources_digest(program) != digest


def test_a_program_with_a_renamed_file_has_another_digest(program: Path) -> None:
    digest = sources_digest(program)
    (program / "emulator" / "main.py").rename(program / "emulator" / "other.py")
    assert sources_digest(program) != digest


def test_a_clone_has_its_commit_and_says_what_is_not_in_it(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(program, "init", "--quiet")
    assert commit_of(program) is None
    git(program, "add", ".")
    git(program, "commit", "--quiet", "--message=first")
    git(program, "tag", "--annotate", "--message=first", "v1")
    commit = git(program, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert commit_of(program) == commit
    write(program, "emulator/main.py", "2\n")
    assert commit_of(program) == f"{commit}-dirty"


def test_a_program_in_a_folder_of_another_clone_has_no_commit(program: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=somebody else's")
    assert commit_of(program) is None


def test_without_git_a_clone_has_no_commit(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program / ".git").mkdir()
    monkeypatch.setenv("PATH", "")
    assert commit_of(program) is None


def test_a_manifest_has_the_digest_of_this_program_and_no_path_of_it() -> None:
    found = versions()
    assert found["sources"] == sources_digest(PROJECT_ROOT)
    assert re.fullmatch(r"[0-9a-f]{16}", found["sources"])
    assert found.get("commit") == program_version().get("commit")
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", found.get("commit", "0" * 40))
    assert [value for value in found.values() if "/" in value or str(PROJECT_ROOT) in value] == []
