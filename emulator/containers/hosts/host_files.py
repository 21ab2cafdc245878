"""The Compose file of each host, derived from that of the whole testbed. Pure.

The networks are overlays that exist already, so each host's file only names them. A cluster gets its keys from a
volume, because its host need not see the folder that holds them here; the broker is on the host with that folder.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from emulator.containers.names import CLUSTER_LABEL, PartNames

KEYS_AT: Final = "/etc/testbed/keys"
"""Where a cluster has its keys."""

OWN_HARDWARE: Final = {"WAN_HARDWARE": "interface"}
"""Makes the router's guest take over the hardware addresses: in an overlay, Docker answers for those alone."""


def host_document(
    whole: Mapping[str, Any], names: PartNames, clusters: Collection[str], *, is_central: bool
) -> dict[str, Any]:
    """Return the Compose file of a host that carries `clusters`, and router and broker if it `is_central`."""
    carried = {*clusters, *(("wan", "broker") if is_central else ())}
    services = {key: _service(names, service) for key, service in whole["services"].items() if key in carried}
    used = {network for service in services.values() for network in service["networks"]}
    mounted = {volume.split(":")[0] for service in services.values() for volume in service.get("volumes", ())}
    volumes = {key: volume for key, volume in whole["volumes"].items() if key in mounted}
    keys = {_keys(cluster): {"external": True, "name": names.keys_volume(cluster)} for cluster in sorted(clusters)}
    return {
        "services": services,
        "networks": {
            key: {"external": True, "name": network["name"]}
            for key, network in whole["networks"].items()
            if key in used
        },
        "volumes": {**volumes, **keys},
    }


def _service(names: PartNames, service: Mapping[str, Any]) -> dict[str, Any]:
    cluster = service["labels"].get(CLUSTER_LABEL)
    if cluster is not None:
        kept = [volume for volume in service["volumes"] if not volume.split(":")[1].startswith(KEYS_AT)]
        return {**service, "volumes": [*kept, f"{_keys(cluster)}:{KEYS_AT}:ro"]}
    if service["container_name"] == names.router:
        return {**service, "environment": {**service["environment"], **OWN_HARDWARE}}
    return dict(service)


def _keys(cluster: str) -> str:
    return f"keys-{cluster}"
