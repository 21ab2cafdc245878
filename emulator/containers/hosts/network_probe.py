"""Runs in a container that shares its host's network; prints the addresses, routes and closed ports found, as JSON.

Its arguments are ``ADDRESS:PORT``. Needs the standard library and iproute2.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import Any

CONNECT_WITHIN_S = 3.0


def listed(*what: str) -> list[dict[str, Any]]:
    """Return what ``ip`` lists."""
    found = subprocess.run(["ip", "-4", "-json", *what], capture_output=True, text=True, check=True)
    entries: list[dict[str, Any]] = json.loads(found.stdout or "[]")
    return entries


def is_open(target: str) -> bool:
    """Return whether something accepts connections at ``ADDRESS:PORT``."""
    address, _, port = target.rpartition(":")
    try:
        socket.create_connection((address, int(port)), CONNECT_WITHIN_S).close()
    except OSError:
        return False
    return True


def main() -> None:
    """Print what this network has."""
    addresses = [
        (interface, address)
        for interface in listed("address")
        for address in interface.get("addr_info", [])
        if "local" in address and interface["ifname"] != "lo"
    ]
    mtu_by_address = {str(address["local"]): int(interface["mtu"]) for interface, address in addresses}
    interfaces = [f"{address['local']}/{address['prefixlen']}" for _, address in addresses]
    routes = [str(route["dst"]) for route in listed("route") if route["dst"] != "default"]
    closed = [target for target in sys.argv[1:] if not is_open(target)]
    found = {"mtu_by_address": mtu_by_address, "routes": routes, "interfaces": interfaces, "closed": closed}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
