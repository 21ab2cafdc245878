"""Clusters: the interfaces of a local resource manager and a file server, and their implementations over SSH.

protocol         the local resource manager: idle processors, claim, release, run inside an allocation, watch
slurm            a Slurm cluster, by Slurm's own commands
slurm_events     the file in which the holders of allocations note their begins and ends
nodes            the nodes of an allocation, which a real cluster's ranks need to know
ssh              one lasting SSH connection that carries the commands
host_keys        checks of a real cluster's host key
examination      examination of a real cluster's head before a testbed uses it
file_server      the file server: make a file, fetch one from another site, remove one
ssh_file_server  a folder at a cluster's head, and rsync between heads
"""
