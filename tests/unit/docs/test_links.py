"""Every link within the documentation leads somewhere: to a file that exists, and to a heading that it has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from emulator.model.project import PROJECT_ROOT

PAGES = [
    *sorted(PROJECT_ROOT.glob("*.md")),
    *sorted((PROJECT_ROOT / "docs").rglob("*.md")),
    *sorted((PROJECT_ROOT / "docs").rglob("*.ipynb")),
    *sorted((PROJECT_ROOT / "examples").rglob("*.md")),
]


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links to them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT_ROOT)))
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert link.startswith("https://") or target.is_file(), link
        assert not anchor or anchor in anchors(target), link
