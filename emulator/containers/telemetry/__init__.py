"""Telemetry of a running testbed during a run, at low cost: counters of the host, of its containers and of its links.

Nothing here needs a privilege; what a host does not report is named, not guessed.

counters             the values, and the counters of the host itself
control_groups       a container's counters, found and read
own_processes        the CPU time of what works for the testbed outside of its containers
consoles             a command kept open in a container
other_hosts          what another host counts, read through such a command
link_counts          what tc reports of links
standstills          how long containers stood still, from the engine's events
container_telemetry  all of these together
"""
