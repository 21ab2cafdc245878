"""Text that others wrote is printed, and obeyed by nobody."""

import io
import json
import re
import sys
from types import SimpleNamespace

import pytest

from emulator.cli.campaign import show_topology
from emulator.cli.foreign_text import pass_on, say
from emulator.cli.progress import step_printer
from emulator.cli.tables import show_rows
from emulator.cli.testbeds import _show_surroundings
from emulator.containers.progress import ProgressStep
from emulator.model.catalogue import topology_named
from emulator.model.project import PROJECT_ROOT

HOSTILE = ["\x1b]0;owned\x07", "\x1b[2J", "\x9b2J", "a\rb", "\x08\x08", "\u202egnp", "\x7f"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("text", HOSTILE)
def test_no_command_passes_a_control_character_on(text, capsys):
    say(f"reason: {text}")
    say(f"reason: {text}", to_error=True)
    show_rows([{"reason": text}], as_json=False, title=text)
    show_rows([{"reason": text}], as_json=True)
    written = capsys.readouterr()
    assert all(line.isprintable() for line in (written.out + written.err).split("\n"))


@pytest.mark.parametrize("text", HOSTILE)
def test_an_output_is_raw_in_a_file_and_harmless_on_a_terminal(text):
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        pass_on(f"one\n\t{text}", stream)
    assert file.getvalue() == f"one\n\t{text}\n"
    assert terminal.getvalue().replace("\n", "").replace("\t", "").isprintable()
    assert terminal.getvalue().startswith("one\n\t")


def test_lines_of_a_sentence_stay_lines(capsys):
    say("Verdict: suspect\n  late phases")
    assert capsys.readouterr().out == "Verdict: suspect\n  late phases\n"


@pytest.mark.parametrize("text", HOSTILE)
def test_names_in_a_topology_and_a_campaign_of_others_are_harmless(text, capsys, tmp_path):
    """Names of processor profiles and paths of topologies may be any text."""
    mini = topology_named("mini")
    topology = mini.model_copy(update={"processor": mini.processor.model_copy(update={"name": text})})
    record = SimpleNamespace(hosts=None, router_backend="auto")
    found = SimpleNamespace(router_backend=text, dilation=None, api_url="http://127.0.0.1:1")
    _show_surroundings(SimpleNamespace(topology=topology, record=record, folder=tmp_path / text), found)
    campaign = tmp_path / "campaign.yaml"
    shipped = (PROJECT_ROOT / "workloads" / "campaigns" / "W1.yaml").read_text()
    campaign.write_text(re.sub("(?m)^topology: .*", lambda _: f"topology: {json.dumps(text)}", shipped))
    show_topology(str(campaign))
    out = capsys.readouterr().out
    assert "processors  " in out
    assert all(line.isprintable() for line in out.split("\n"))


def test_markup_in_a_reason_is_printed_as_it_stands(capsys):
    show_rows([{"reason": "[bold red]no[/] [link=x]y"}], as_json=False, title="[dim]Jobs")
    assert "[bold red]no[/] [link=x]y" in (out := capsys.readouterr().out)
    assert "[dim]Jobs" in out


def test_markup_in_a_step_is_printed_as_it_stands(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    step_printer()(ProgressStep("build", "[/] \x1b[2J [red]stage"))
    assert r"build: [/] \x1b[2J [red]stage" in written.getvalue()
