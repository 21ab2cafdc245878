"""What the kernel of this host can do, as far as is visible without asking an engine."""

from __future__ import annotations

import gzip
import platform
from pathlib import Path
from typing import Final

_LOADED: Final = Path("/sys/module")
_MODULES: Final = Path("/lib/modules")
_CONFIGURATION: Final = Path("/proc/config.gz")


def has_netem() -> bool:
    """Return whether this kernel has sch_netem built in, loaded or as a module; where it has not, a guest forwards."""
    if (_LOADED / "sch_netem").is_dir():
        return True
    modules = _MODULES / platform.release()
    for listing in (modules / "modules.dep", modules / "modules.builtin"):
        if listing.is_file() and "sch_netem.ko" in listing.read_text(errors="replace"):
            return True
    return _CONFIGURATION.is_file() and b"CONFIG_NET_SCH_NETEM=y" in gzip.decompress(_CONFIGURATION.read_bytes())
