"""Plain values that all other packages share: multiclusters, requests, jobs and records.

Little here performs I/O: ``documents`` and ``project`` read and find documents, ``page_assets`` reads the live page,
``process_lock`` locks files, ``whole_files`` replaces them, and ``full_disk`` waits for room. ``clock``, ``units``,
``point_costs``, ``time_sharing`` and ``errors`` import nothing but the standard library, because the applications
import them inside a node.

The multicluster:

topology         clusters of equal processors, their access links, and the delays between them
catalogue        the topologies that come with the testbed, and generated ones
processor        the emulated processor: the cost of one grid-point update
point_costs      that cost in cache, out of it, and between the two
interconnects    the interconnect that carries messages inside a cluster
link_queues      the queues of access links, and TCP's timeout after a full one dropped a packet
collectives      how a job's processes meet, and what that depends on
shared_nodes     nodes whose one processor several tasks share in time
time_sharing     such a processor: who has it, from when until when
local_users      people who work at such nodes
uncertainty      by how much predictions of a topology's iterations err
real_head        the head of a real cluster: how SSH reaches it, and options for its Slurm
node_names       the names of a cluster's nodes
underlay         the network between the hosts of a testbed, and how far their clocks are apart

Jobs and how they are scheduled:

request          processors, components, and the choices that are left to the scheduler
job              a job's specification, its states, and the timestamps of its life
stream           the jobs of a stream, with their arrival and their execution time in one cluster
placement        component sizes mapped to clusters
held_nodes       what a job holds where nodes are exclusive
rules            limits of a system on the sizes and the components of jobs
scheduling       parameters of scans and claims, and the sources of policies
background       the jobs of other users, and the dummy jobs that hold their load in a band
traffic          background traffic on access links
files            files that jobs read: names, registrations and replicas
times            where the execution times of simulated jobs come from

Records and interfaces:

records          the row types of a run's files, and its manifest
cell_rows        rows about the cells of a measurement
rows             what all rows have in common: cells of text and back
evidence         evidence about the host and the links during a run
views            the values of the broker's HTTP API
page_views       what the live page is told besides jobs and events
page_access      who may look at the live page
page_assets      the files of the live page, and the headers that they are served with
proof            the proof by which a broker shows that it has the testbed's token
settings         the settings of a broker: the heads of its clusters, and how to reach them
ssh_keys         new pairs of SSH keys
finding          the result of one check of the host, or of a real cluster's head

What all of them use:

clock            emulated time: the one place that converts between emulated and host seconds
units            the units of the testbed, and all conversions between them
errors           the errors of the testbed
documents        YAML documents read and written as validated values
project          the folders of the documents that come with the testbed, and the search for one by name
host_processors  how many processors this process may use
faults           the faults that pydantic finds, as sentences
names            names as people type them
counts           numbers of things in sentences
escapes          text of others without control characters, and its last line
process_lock     locks on files that end with their process
whole_files      files that are replaced whole or not at all
full_disk        waiting while a disk is full
compilation      hints for mypyc
"""
