"""Simulation of clusters whose nodes are shared by several jobs and by local users.

network      messages between nodes: one after another through each interface and each access link
layout       what a topology says of the nodes and their network
tasks        the tasks of a job between its start and its end, and local users
engine       the events of all nodes: computing, messages, bursts of local users
scheduling   the decisions: a composition of node and job selection on the state of the nodes
simulation   a topology, a stream of jobs, a composition and a time-sharing rule put together, and the result
finished     a job that ended, in the form of all simulated jobs

The nodes' processors are `emulator.model.time_sharing`, the decisions `emulator.policies.nodes`.
"""
