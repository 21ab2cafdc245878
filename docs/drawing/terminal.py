"""What a command prints, as a picture of a terminal."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

COLUMNS: Final = 100
FORMAT: Final = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""As rich's own, without fonts that a browser would fetch."""


def terminal_picture(command: str) -> str:
    """Run a `testbed` command and return it with what it prints, as SVG."""
    program = Path(sys.executable).with_name("testbed")
    words = [str(program), *shlex.split(command)[1:]]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": str(COLUMNS)})
    return picture_of(f"$ {command}\n{ran.stdout.rstrip()}", command)


def picture_of(text: str, title: str) -> str:
    """Return lines of a terminal as SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text(text))
    return console.export_svg(title=title, code_format=FORMAT, unique_id="terminal")
