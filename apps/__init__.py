"""The MPI applications that jobs of the testbed run, with their pacing to the speed of an emulated processor.

An application solves its problem for real; ``pacing`` then makes each compute phase last as long as the emulated
processor would have needed. Of the emulator only the clock, the units, the costs of a point, time sharing and the
errors are imported: this must run in a node with little installed.

Running a job:

run              the entry point that the broker starts
__main__         the same as `python -m apps`
start            how ranks come to be
announcement     how they wait for the job's start
application      what an application is, and what it is given
options          what command lines have in common
failing          a whole job ended with one sentence

Knowing an application without running it:

registry         a descriptor of each
descriptor       what a descriptor holds

The applications, one file each:

poisson          Poisson's equation by red-black Gauss-Seidel
laplace          Laplace's equation
heat             the heat equation
ensflow          an ensemble of ocean states that meet in a Kalman analysis
synthetic        computation and messages as parameters say

Parts of Ensflow and Synthetic:

basin            the ocean's grid
ocean            its states
ensemble         who has which members
kalman           the filter
assimilation     the filter over all ranks
content          messages that tell where they come from
partners         who sends to whom
kernels          the compiled updates of all applications

Processes and messages:

grid             which process owns which points and talks to whom
tree             who reports to whom
messaging        one rank's messages, paced
interconnect     what a message costs inside a cluster
doorbells        how ranks of a node wake one another
exchange         the borders between neighbours
collectives      what all ranks do together

Pacing and measuring:

pacing           a compute phase lasts as long as the emulated processor would need
precedence       ranks that iterate get a core before ranks that start or end
shared_pacing    the same on a node that tasks share in time
arbiter          the program that such a rank asks
local_bursts     what the arbiter tells of local users, printed
interfaces       the network interfaces of such nodes
setting          how a job runs
counters         what a rank counts
phase_clock      the phases of a loop, closed and added up
numerics         which phases really compute
wide_area_bytes  what the ranks' connections carried, as the kernel counts it

Results:

timeline         the barriers and the events that rank 0 reports
record           the result that is printed
solution         the computed solution: its distance from the known one, and a file of it
"""
