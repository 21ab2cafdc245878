"""A testbed over several hosts: their engines as one, overlay networks, a Compose file a host, and images sent."""
