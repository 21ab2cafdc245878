"""A testbed over several hosts: their engines as one, overlay networks, a Compose file a host, and images sent.

connecting       the engine of a testbed, or those of its hosts
engines          the engines of several hosts behind the interface of one
joined_events    their events in one stream, which goes on when a host that was lost is reached again
tunnels          SSH tunnels to the engines of other hosts
facts_reader     what is to be known of hosts, read through their engines
network_probe    the program that reads a host's network, in a container there
preparing        what must hold before anything is started
host_files       the Compose file of each host (pure)
image_transfer   images sent to the hosts that lack them
starting         a testbed's containers, made and started
underlay_probe   the program that measures the network between two hosts, in a container of each
underlay_reader  that network, measured through containers that run already
left_behind      what is left on hosts that were not reached
"""
