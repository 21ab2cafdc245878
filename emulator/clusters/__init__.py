"""Clusters: the interfaces of a local resource manager and a file server, and their implementations over SSH.

protocol         the local resource manager: idle processors, claim, release, run inside an allocation, watch
slurm            a Slurm cluster, by Slurm's own commands
holders          what holds the processors of a claim, and the shell commands that begin and forget it
slurm_events     the file in which the holders of allocations note their begins and ends
nodes            the nodes of an allocation, which a real cluster's ranks need to know
ssh              one lasting SSH connection that carries the commands
hops             an SSH connection through jump hosts, and the keys that it is opened with
agent            the user's ssh-agent, which the broker inherits
ssh_config       the user's SSH configuration: the logins on the way to a real head
user_keys        the user's private keys for such a login
host_keys        checks of host keys on the way
reaching         the first connection to a real head, and what the testbed needs to make it again
passes           keys for one job or transfer of a container at real heads
examination      examination of a real cluster's head before a testbed uses it
file_server      the file server: make a file, fetch one from another site, remove one
ssh_file_server  a folder at a cluster's head, and rsync between heads
"""
