"""The verb `help`: every page of the manual and the stated sections, from the manual's own files."""

from __future__ import annotations

import json

import pytest

from emulator.cli import help as help_module
from emulator.cli.completion import topics as offered
from emulator.cli.manual import about_topics, headings, topic_named, topic_text
from emulator.cli.verbs import VERBS
from emulator.model.project import MANUAL, SECTIONS, topics


def test_without_a_topic_every_page_and_section_is_listed_with_a_line(call):
    code, printed, _ = call("help", "--json")
    rows = json.loads(printed)
    assert (code, [row["topic"] for row in rows]) == (0, topics())
    assert {page.stem for page in MANUAL.glob("*.md")} - {row["topic"] for row in rows} == {"index"}
    assert all(row["about"] and "\n" not in row["about"] for row in rows)
    assert not set(SECTIONS) & {page.stem for page in MANUAL.glob("*.md")}


@pytest.mark.parametrize("name", topics())
def test_a_topic_begins_with_its_heading_and_has_neither_links_nor_what_only_the_site_reads(name):
    topic = topic_named(name)
    text = topic_text(topic)
    words = topic.heading or about_topics()[name]
    assert text.splitlines()[0].lstrip("# ") == words
    assert len(text) > 100
    for foreign in ("](", "<!--", "{toctree}"):
        assert foreign not in text


def test_a_section_ends_where_the_next_one_of_its_level_begins():
    found = [each.words for each in headings(topic_text(topic_named("verdicts")))]
    assert found[0] == "Verdicts"
    assert "How well a figure repeats" not in found
    assert "evidence" in topic_text(topic_named("fidelity")).lower()


def test_what_is_written_to_a_pipe_is_the_page_s_own_text(call):
    code, printed, _ = call("help", "Exit", "codes")
    assert code == 0
    page = (MANUAL / "command-line.md").read_text()
    table = [line for line in page.splitlines() if line.startswith("| ")][:7]
    assert [line for line in table if line not in printed] == []
    assert "\x1b" not in printed


def test_pages_that_a_topic_links_to_are_named_as_topics():
    last = topic_text(topic_named("dilation")).splitlines()[-1]
    assert "See also" not in last or "`testbed help " in last
    assert "`testbed help plan`" in topic_text(topic_named("fidelity")).splitlines()[-1]


def test_an_unknown_topic_is_one_sentence_with_what_is_near(call):
    code, printed, complaint = call("help", "dilaton")
    assert (code, printed, complaint.count("\n")) == (1, "", 1)
    assert "`testbed help dilation`" in complaint
    assert "`testbed help` lists all topics" in complaint


def test_a_verb_without_a_page_is_led_to_its_own_help(call):
    assert "up" in VERBS
    assert "`testbed up --help` is about the verb" in call("help", "up")[2]


def test_a_terminal_gets_no_markdown(capsys):
    help_module._show_rendered(topic_text(topic_named("quota")))
    shown = capsys.readouterr().out
    assert "Quota" in shown
    assert "## " not in shown
    assert "`" not in shown


def test_a_shell_is_offered_topics():
    assert [name for name, _ in offered("verd")] == ["verdicts"]
