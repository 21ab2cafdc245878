"""What a real head is asked before a testbed relies on it, answered by a shell with stand-ins for its programs."""

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.clusters import examination
from emulator.clusters.examination import FILE_PROGRAMS, RANK_PROGRAMS, SLURM_PROGRAMS, _Questions
from emulator.model.finding import Finding
from emulator.model.project import PROJECT_ROOT
from emulator.model.real_head import RealHead


class Shell:
    """A head that finds the programs in one folder, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def exec_command(self, command: str, timeout: float):
        ended = subprocess.run(
            ["/bin/bash", "-c", command], env={"PATH": str(self._folder)}, capture_output=True, check=False
        )
        channel = SimpleNamespace(recv_exit_status=lambda: ended.returncode)
        return None, SimpleNamespace(read=lambda: ended.stdout, channel=channel), None


def installed(folder: Path, *programs: str) -> Path:
    folder.mkdir(exist_ok=True)
    for program in programs:
        (folder / program).write_text("#!/bin/sh\n")
        (folder / program).chmod(0o755)
    return folder


def questions_to(folder: Path, setup: str = "") -> _Questions:
    ssh = RealHead(address="alice@fs0.das.example", key="/keys/das", setup=setup)
    return _Questions(SimpleNamespace(name="das"), ssh, Shell(folder))


def found_by(questions: _Questions) -> dict[str, Finding]:
    return {finding.check: finding for finding in questions.programs()}


def test_what_claims_are_made_with_must_be_there_without_being_set_up(tmp_path):
    late = installed(tmp_path / "late", *SLURM_PROGRAMS, *RANK_PROGRAMS)
    found = found_by(questions_to(installed(tmp_path / "path"), setup=f"PATH={late}:$PATH"))
    assert [found[program].ok for program in SLURM_PROGRAMS] == [False] * len(SLURM_PROGRAMS)
    assert [found[program].ok for program in RANK_PROGRAMS] == [True] * len(RANK_PROGRAMS)


@pytest.mark.parametrize(
    ("version", "ok"),
    [("mpirun (Open MPI) 4.1.4", True), ("mpirun (Open MPI) 5.0.3", False), ("Intel(R) MPI Library for Linux", False)],
)
def test_another_mpi_than_the_ranks_need_is_not_accepted(tmp_path, version, ok):
    folder = installed(tmp_path / "path", *SLURM_PROGRAMS, *RANK_PROGRAMS)
    (folder / "head").symlink_to(shutil.which("head"))
    (folder / "mpirun").write_text(f"#!/bin/sh\necho '{version}'\n")
    found = found_by(questions_to(folder))["Open MPI"]
    assert (found.ok, found.found) == (ok, version)


def importing(folder: Path, lacking: str) -> Path:
    """Return a folder with modules that stand in for those that ranks import, one of which fails."""
    modules = {
        "numpy": "__version__ = '1.24'",
        "mpi4py": "import sys, types\n"
        "rc, __version__ = types.SimpleNamespace(), '3.1'\n"
        "sys.modules['mpi4py.MPI'] = MPI = object()\n",
        "apps/start/parent": "",
    }
    for name, text in {**modules, lacking: "raise ImportError"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.mark.parametrize("lacking", ["numpy", "mpi4py"])
def test_what_ranks_import_must_be_importable_by_their_python(tmp_path, monkeypatch, lacking):
    monkeypatch.setattr(examination, "RANK_PYTHON", sys.executable)
    modules = importing(tmp_path / "modules", lacking)
    findings = found_by(questions_to(installed(tmp_path / "path"), setup=f"export PYTHONPATH={modules}"))
    wanted = {"numpy", "mpi4py", "applications"}
    assert {name: findings[name].ok for name in wanted} == {name: name != lacking for name in wanted}
    assert findings[lacking].needed
    assert lacking in findings[lacking].remedy


def test_the_python_that_is_asked_is_the_one_that_starts_ranks():
    source = (PROJECT_ROOT / "apps" / "start" / "rank.c").read_text(encoding="utf-8")
    assert f'#define PYTHON "{examination.RANK_PYTHON}"' in source
    assert f'#define PYTHON_VARIABLE "{examination.PYTHON_VARIABLE}"' in source


def test_the_setup_may_name_another_python_for_ranks(tmp_path):
    modules = importing(tmp_path / "modules", "none")
    setup = f"export PYTHONPATH={modules} TESTBED_PYTHON={sys.executable}"
    findings = found_by(questions_to(installed(tmp_path / "path"), setup))
    assert [findings[name].ok for name in ("numpy", "mpi4py", "applications")] == [True] * 3
    setup = f"export PYTHONPATH={modules} TESTBED_PYTHON=/none/python3"
    missing = found_by(questions_to(installed(tmp_path / "path"), setup))["numpy"]
    assert (missing.ok, missing.found) == (False, "cannot be imported by /none/python3")
    assert "TESTBED_PYTHON" in missing.remedy


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_start_rank_starts_the_python_that_the_environment_names(tmp_path):
    start_rank = tmp_path / "start-rank"
    source = PROJECT_ROOT / "apps" / "start" / "rank.c"
    subprocess.run(["cc", "-o", start_rank, source], check=True)
    (installed(tmp_path / "path", "python") / "python").write_text('#!/bin/sh\necho "$0 $*"\n')
    python = tmp_path / "path" / "python"
    for named in (str(python), "python"):
        environment = {"PATH": f"{tmp_path / 'path'}:/usr/bin:/bin", "TESTBED_PYTHON": named}
        line = [start_rank, "poisson", "--grid", "4"]
        said = subprocess.run(line, env=environment, capture_output=True, text=True, check=True).stdout
        assert said == f"{python} -m apps poisson --grid 4\n"


@pytest.mark.parametrize("lacking", FILE_PROGRAMS)
def test_a_head_that_cannot_bring_files_is_good_for_jobs_without(tmp_path, lacking):
    folder = installed(tmp_path / "path", *(program for program in FILE_PROGRAMS if program != lacking))
    (folder / "bash").symlink_to(shutil.which("bash"))
    finding = questions_to(folder).files()
    assert (finding.ok, finding.needed, finding.found) == (False, False, f"without {lacking}")


def test_a_shell_that_does_not_tell_the_time_cannot_say_when_bytes_came(tmp_path):
    folder = installed(tmp_path / "path", *FILE_PROGRAMS, "bash")
    assert questions_to(folder).files().found == "without bash 5"
