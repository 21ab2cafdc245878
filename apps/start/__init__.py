"""How ranks come to be: from the process that mpirun starts to MPI's readiness, cheaply.

`rank.c` is the program that mpirun starts for each rank; `parent` is the Python process, one for a job and node, that
imports everything once and forks the ranks; `handover` is the message between the two; `mpi` initialises MPI and ends
it; `ending` is a rank's last act. `python3 -m apps` under a plain mpirun needs neither the program nor the parent.
"""
