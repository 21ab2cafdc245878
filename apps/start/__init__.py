"""The start of ranks: from the process that mpirun starts to MPI's readiness, at little cost.

`rank.c` is the program that mpirun starts for each rank; `parent` is the Python process, one for a job and node, that
forks the ranks; `prepared` is the process, one for a node, that has imported everything and forks the parents;
`preparation` is what it imports; `handover` is the message between them; `mpi` initialises MPI and ends it, and with it
the process. `python3 -m apps` under a plain mpirun needs none of them but the last.
"""
