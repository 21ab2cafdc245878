"""Routes of a cluster: to the other sites, and none out of the testbed's networks."""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from cluster_start.waiting import wait_until


def route_sites() -> None:
    """Route traffic to other sites through the router of the wide area."""
    command = ["ip", "route", "replace", os.environ["TESTBED_ALL_SITES"], "via", os.environ["TESTBED_ROUTER"]]
    subprocess.run(command, check=True)


def close_network() -> None:
    """Remove the routes out of the testbed's networks and to the host, which Docker makes at every start."""
    wait_until(network_is_closed, "the closed network")


def network_is_closed() -> bool:
    """Return whether no route led out of the testbed's networks, nor to the host; else close those that do.

    Docker may change routes between the listing and a command, which then fails; the next listing shows what is left.
    """
    listed = subprocess.run(["ip", "-4", "-json", "route", "show"], capture_output=True, text=True, check=False)
    if listed.returncode != 0 or not listed.stdout.strip():
        return False
    commands = closing_routes(json.loads(listed.stdout))
    for arguments in commands:
        subprocess.run(["ip", "route", *arguments], check=False)
    return not commands


def closing_routes(routes: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return what `ip route` must do: delete default routes, and prohibit the host, the first address of a network."""
    prohibited = {str(route["dst"]) for route in routes if route.get("type") == "prohibit"}
    words = []
    for route in routes:
        if route["dst"] == "default":
            words.append(["del", "default", "dev", str(route["dev"])])
        elif route.get("scope") == "link":
            host = str(ipaddress.ip_network(str(route["dst"]))[1])
            if host not in prohibited:
                words.append(["replace", "prohibit", f"{host}/32"])
    return words
