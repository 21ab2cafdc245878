"""Telemetry of a running testbed during a run, at low cost: counters of the host, of its containers and of its links.

``counters`` holds the values and reads the host's own, ``control_groups`` finds and reads those of a container,
``consoles`` keeps a command open in a container, ``other_hosts`` reads through one what another host counts,
``link_counts`` reads what tc reports there, ``standstills`` listens to the engine's events, and ``container_telemetry``
combines them. Nothing here needs a privilege; what a host does not
report is named, not guessed.
"""
