"""The start of ranks: from the process that mpirun starts to MPI's readiness, at little cost.

``rank.c`` is the program that mpirun starts for each rank. `python3 -m apps` under a plain mpirun needs nothing of this
but ``mpi``.

prepared     the process of a node that has imported everything and forks the parents
preparation  what it imports
parent       the process of a job and a node that forks the ranks
handover     the message between that program and the parent
forked       a rank, forked from the parent
mpi          MPI initialised and ended, and with it the process
"""
