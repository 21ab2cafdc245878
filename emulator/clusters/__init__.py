"""Clusters: what the broker may ask of a local resource manager and of a file server, and how those behind SSH answer.

protocol    the questions: idle processors, claim, release, run inside an allocation, watch
slurm       Slurm's answers, in its own commands
nodes       where Slurm put an allocation's processors, as a real cluster's ranks need to know
ssh         one lasting SSH connection that carries them
host_keys   whether a real cluster's head is the one that was meant
examination such a head looked over before a testbed relies on it

file_server      the questions: make a file, fetch one from another site, remove one
ssh_file_server  a folder at a cluster's head, and rsync between heads
"""
