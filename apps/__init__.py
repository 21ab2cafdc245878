"""The MPI applications that jobs of the testbed run, with their pacing to the speed of an emulated processor.

An application solves its problem for real; `pacing` then makes each compute phase last as long as the emulated
processor would have needed. `grid` says which process owns which points and talks to whom, `exchange` moves the borders
between neighbours, `kernels` holds the compiled updates, one file an application holds its numerics, `run` is the
entry point that the broker starts, `timeline` its start barrier and clocks, `record` the result that it prints.
Of the emulator only the clock, the units and the errors are imported: this must run in a node with little installed.
"""
