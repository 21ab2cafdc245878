"""The start of ranks: from the process that mpirun starts to MPI's readiness, at little cost.

`rank.c` is the program that mpirun starts for each rank; `parent` is the Python process, one for a job and node, that
imports everything once and forks the ranks; `handover` is the message between the two; `mpi` initialises MPI and ends
it, and with it the process. `python3 -m apps` under a plain mpirun needs neither the program nor the parent.
"""
