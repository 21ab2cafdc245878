"""The page on files names what is in them: every column of every table, every key of a job and of a campaign."""

from __future__ import annotations

import re

import pytest

from emulator.model.job import JobSpecification
from emulator.model.project import PROJECT_ROOT
from emulator.model.records import ROW_FILES
from workloads.campaign import Campaign

PAGE = (PROJECT_ROOT / "docs" / "formats.md").read_text(encoding="utf-8")


def without_brackets(text: str) -> str:
    """`text` without what stands in brackets, brackets within brackets too: there, columns are explained by others."""
    shorter = re.sub(r"\([^()]*\)", "", text)
    return text if shorter == text else without_brackets(shorter)


@pytest.mark.parametrize(("row", "file"), [pytest.param(row, file, id=file) for row, file in ROW_FILES.items()])
def test_every_column_is_described_and_no_other(row, file):
    (paragraph,) = (paragraph for paragraph in PAGE.split("\n\n") if paragraph.startswith(f"**`{file}`**"))
    assert re.findall(r"`([a-z_]+)`", without_brackets(paragraph)) == row.columns()


@pytest.mark.parametrize(
    ("heading", "document"), [("## A job", JobSpecification), ("## A campaign", Campaign)], ids=["job", "campaign"]
)
def test_every_key_is_described(heading, document):
    section = PAGE.split(f"{heading}\n")[1].split("\n## ")[0]
    assert [key for key in document.model_fields if key not in re.findall(r"[a-z_]+", section)] == []
