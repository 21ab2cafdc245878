"""The same in Python, with mpi4py, which needs no compiler: strips of a line, each rank with its two neighbours.

testbed put examples/own-program/solver.py
command: [python3, solver.py, "1000"]      # in a job
"""

import os
import sys
import time

import numpy
from mpi4py import MPI

POINTS, NS_PER_POINT = 20_000, 200.0
world = MPI.COMM_WORLD
steps = int(sys.argv[1])
above = world.rank - 1 if world.rank > 0 else MPI.PROC_NULL
below = world.rank + 1 if world.rank < world.size - 1 else MPI.PROC_NULL
line = numpy.zeros(POINTS + 2)
if world.rank == 0:
    line[0] = 100.0
host_phase_s = POINTS * NS_PER_POINT * 1e-9 * float(os.environ.get("TESTBED_DILATION", 0.0))

world.Barrier()
began_host_s = time.monotonic()
for _ in range(steps):
    world.Sendrecv(line[1:2].copy(), above, recvbuf=line[-1:], source=below)
    world.Sendrecv(line[-2:-1].copy(), below, recvbuf=line[:1] if world.rank > 0 else numpy.empty(1), source=above)
    phase_end_host_s = time.monotonic() + host_phase_s
    line[1:-1] = 0.5 * (line[:-2] + line[2:])
    time.sleep(max(0.0, phase_end_host_s - time.monotonic()))
heat = world.reduce(float(line[1:-1].sum()))
if world.rank == 0:
    print(f"{world.size} ranks, {steps} steps: {time.monotonic() - began_host_s:.3f} s of the host, heat {heat:.6f}")
