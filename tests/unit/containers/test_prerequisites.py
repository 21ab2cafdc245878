"""What must be there before anything is installed, asked of a double of Docker's socket."""

from __future__ import annotations

import socketserver
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler

import pytest

from emulator.containers import prerequisites
from emulator.containers.image_names import PINNED_BY, PULLED_FROM, base_reference, public_image
from emulator.model.project import PROJECT_ROOT


@pytest.fixture
def docker(tmp_path, monkeypatch):
    """A double of Docker that answers with the status stated for a path, else with 404; Compose is there.

    Where the status is 0 it answers with something else than HTTP.
    """
    answered = {"/_ping": 200}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = answered.get(self.path, 404)
            if not status:
                self.wfile.write(b"nonsense\r\n\r\n")
                return
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def address_string(self) -> str:
            return "client"

        def log_message(self, *_: object) -> None: ...

    path = tmp_path / "docker.sock"
    with socketserver.ThreadingUnixStreamServer(str(path), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        monkeypatch.delenv(PINNED_BY, raising=False)
        monkeypatch.delenv(PULLED_FROM, raising=False)
        monkeypatch.setattr(prerequisites.shutil, "which", lambda program: f"/usr/bin/{program}")
        monkeypatch.setattr(prerequisites.mmdebstrap, "missing_programs", lambda: [])
        yield answered
        server.shutdown()


def test_where_the_base_is_there_nothing_else_is_asked(docker, capsys):
    docker[f"/images/{base_reference()}/json"] = 200
    assert list(prerequisites.lacking()) == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("path", ["/images/{}/json", "/distribution/{}/json"])
def test_the_public_image_does_as_well_here_or_in_its_registry(docker, path, monkeypatch):
    monkeypatch.setattr(prerequisites.mmdebstrap, "missing_programs", lambda: ["perl"])
    docker[path.format(public_image())] = 200
    assert list(prerequisites.lacking()) == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_registry_that_wants_a_login_is_reached(docker, monkeypatch, status):
    monkeypatch.setattr(prerequisites.mmdebstrap, "missing_programs", lambda: ["perl"])
    docker[f"/distribution/{public_image()}/json"] = status
    assert list(prerequisites.lacking()) == []


@pytest.mark.parametrize("status", [0, 500])
def test_a_registry_of_which_docker_says_nothing_is_not_reached(docker, monkeypatch, status):
    monkeypatch.setattr(prerequisites.mmdebstrap, "missing_programs", lambda: ["perl"])
    docker[f"/distribution/{public_image()}/json"] = status
    (sentence,) = prerequisites.lacking()
    assert "can neither be pulled" in sentence


def test_else_mmdebstrap_must_be_there_or_be_fetched(docker, monkeypatch):
    assert list(prerequisites.lacking()) == []
    monkeypatch.setattr(prerequisites.mmdebstrap, "missing_programs", lambda: ["apt-get"])
    (sentence,) = prerequisites.lacking()
    assert "mmdebstrap is missing, and so is apt-get" in sentence
    assert sentence.endswith("(reach a container registry, or install mmdebstrap).")


def test_whoever_pulls_the_images_needs_no_base(docker, monkeypatch, capsys):
    monkeypatch.setattr(prerequisites.mmdebstrap, "missing_programs", lambda: ["apt-get"])
    monkeypatch.setenv(PULLED_FROM, "registry.example:5000/group")
    assert list(prerequisites.lacking()) == []
    assert capsys.readouterr().err == ""


def test_a_pinned_image_must_be_pulled(docker, monkeypatch):
    monkeypatch.setenv(PINNED_BY, "debian@sha256:00")
    (sentence,) = prerequisites.lacking()
    assert sentence.startswith("debian@sha256:00, which TESTBED_BASE_IMAGE asks for, cannot be pulled")


def test_docker_and_compose_must_be_there(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setattr("shutil.which", lambda program: None)
    compose, docker = prerequisites.lacking()
    assert compose.startswith("Docker Compose is not installed")
    assert docker.startswith(f"Docker does not answer at {tmp_path}/none.sock")


def test_an_engine_of_another_machine_is_refused(docker, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "ssh://bob@far")
    (sentence,) = prerequisites.lacking()
    assert sentence.startswith("DOCKER_HOST names an engine of another machine: ssh://bob@far (unset it")


def test_an_old_python_is_named_with_the_remedy(docker, monkeypatch):
    docker[f"/images/{base_reference()}/json"] = 200
    monkeypatch.setattr(prerequisites.sys, "version_info", (3, 9, 2))
    (sentence,) = prerequisites.lacking()
    assert sentence == (
        "Python 3.11 or newer is needed, and this is 3.9.2 (name a newer one: `make PYTHON=python3.12 ...`)."
    )


def test_nothing_but_the_standard_library_is_needed():
    script = "import emulator.containers.prerequisites, sys; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-S", "-c", script], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True
    )
    assert not set(ended.stdout.split()) & {"docker", "pydantic", "yaml"}
