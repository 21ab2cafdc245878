"""Clusters: what the broker may ask of a local resource manager and of a file server, and how those behind SSH answer.

protocol    the questions: idle processors, claim, release, run inside an allocation, watch
slurm       Slurm's answers, in its own commands
ssh         one lasting SSH connection that carries them

file_server      the questions: make a file, fetch one from another site, remove one
ssh_file_server  a folder at a cluster's head, and rsync between heads
"""
