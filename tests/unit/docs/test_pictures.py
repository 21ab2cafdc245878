"""Every how-to page has a picture with words beside it, and every picture is shown and can be made by a command."""

from __future__ import annotations

import re

import pytest

from emulator.model.project import PROJECT_ROOT

DOCS = PROJECT_ROOT / "docs"
PICTURE = re.compile(r"!\[([^\]]+)\]\(((?:pictures|results)/[^)]+)\)\n*([^\n]*)")
TAKEN = ("page-", "monitoring.")
"""What pictures of a running testbed begin with: they are taken by hand, of the live page and of its metrics."""

MOST_BYTES = 1_500_000


def how_to_pages() -> list[str]:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r":caption: How to\n:hidden:\n\n(.*?)\n<!--", index, flags=re.DOTALL)
    return listed.split()


@pytest.mark.parametrize("page", how_to_pages())
def test_a_how_to_page_has_a_picture_with_words_beside_it(page: str) -> None:
    found = PICTURE.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    assert found
    for alternative, file, caption in found:
        assert len(alternative.split()) > 3, file
        assert caption, f"{file}: a sentence follows"


def test_every_picture_is_shown_and_made_by_make_pictures() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (*DOCS.glob("*.md"), PROJECT_ROOT / "README.md"))
    made = (PROJECT_ROOT / "Makefile").read_text(encoding="utf-8")
    pictures = list((DOCS / "pictures").iterdir())
    assert [file.name for file in pictures if f"pictures/{file.name})" not in pages] == []
    drawn = [file.name for file in pictures if not file.name.startswith(TAKEN)]
    assert [name for name in drawn if not re.search(rf"[\s/]{re.escape(name)}\b", made)] == []
    assert sum(file.stat().st_size for file in pictures) < MOST_BYTES
