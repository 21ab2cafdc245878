"""What the kernel of this host can do, as far as is visible without asking an engine."""

from __future__ import annotations

import gzip
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_LOADED: Final = Path("/sys/module")
_MODULES: Final = Path("/lib/modules")
_CONFIGURATION: Final = Path("/proc/config.gz")
_RULES: Final = (Path("/usr/lib/modprobe.d"), Path("/run/modprobe.d"), Path("/etc/modprobe.d"))
"""The folders of modprobe's rules. Of files with one name it reads the one in the last of these folders."""

_BRIDGES: Final = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")

_OF_LINKS: Final = {
    "ifb": "CONFIG_IFB",
    "sch_tbf": "CONFIG_NET_SCH_TBF",
    "sch_ingress": "CONFIG_NET_SCH_INGRESS",
    "cls_u32": "CONFIG_NET_CLS_U32",
    "act_mirred": "CONFIG_NET_ACT_MIRRED",
}
"""The modules that shape a cluster's access link, each with the kernel's option that builds it."""


def is_of(information: Mapping[str, Any]) -> bool:
    """Return whether the engine that gives this `information` runs under this kernel, and not in a virtual machine."""
    return information.get("KernelVersion") in (None, platform.release())


def has_netem() -> bool:
    """Return whether this kernel has sch_netem built in, loaded or as a module that it loads by itself.

    Where it has not, a guest forwards.
    """
    return _is_there("sch_netem", "CONFIG_NET_SCH_NETEM") is True


def lacks_netem() -> bool:
    """Return whether this kernel surely has no sch_netem, not even a module that only a blacklist holds back."""
    return _is_there("sch_netem", "CONFIG_NET_SCH_NETEM") is False


def missing_for_links() -> list[str]:
    """Return the modules of access links that this kernel surely lacks; no guest can replace them."""
    return [module for module, option in _OF_LINKS.items() if _is_there(module, option) is False]


def filters_bridges() -> bool:
    """Return whether packets that a bridge forwards go through the host's firewall."""
    try:
        return _BRIDGES.read_text(encoding="ascii").strip() == "1"
    except OSError:
        return False


def _is_there(module: str, option: str) -> bool | None:
    """Return whether this kernel has a module, which its configuration calls `option`; None if that is not visible.

    Whether the kernel loads a blacklisted one when it is needed depends on its version: by its alias (6.9 and later) it
    does not, by its name it does.
    """
    if (_LOADED / module).is_dir():
        return True
    listings = [_MODULES / platform.release() / name for name in ("modules.builtin", "modules.dep")]
    listed = {listing.name: listing.read_text(errors="replace") for listing in listings if listing.is_file()}
    for name, text in listed.items():
        if f"/{module}.ko" in text:
            return True if name == "modules.builtin" or not _is_blacklisted(module) else None
    if not _CONFIGURATION.is_file():
        return False if listed else None
    stated = gzip.decompress(_CONFIGURATION.read_bytes()).decode("ascii", errors="replace").splitlines()
    if f"{option}=y" in stated:
        return True
    # As a module it may be somewhere that is not visible here.
    return None if f"{option}=m" in stated and not listed else False


def _is_blacklisted(module: str) -> bool:
    """Return whether modprobe's rules forbid that a module is loaded by itself, as far as they can be read."""
    files = {file.name: file for folder in _RULES for file in folder.glob("*.conf")}
    lines: list[str] = []
    for file in files.values():
        with suppress(OSError):
            lines += file.read_text(encoding="utf-8", errors="replace").splitlines()
    return any(line.replace("-", "_").split()[:2] == ["blacklist", module] for line in lines)
