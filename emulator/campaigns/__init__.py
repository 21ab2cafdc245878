"""A workload through either driver of the policies: the broker of a testbed, or the simulator.

live             a campaign on a running testbed
sweep            a campaign under several policies and seeds, and interrupted campaigns once more
load_generator   the subprocess that submits its schedule
simulated        a campaign, a job list, a log or a study's stream through the simulator
like_run         what a live run did, simulated
swept            a workload simulated over policies, queues, loads and seeds
"""
