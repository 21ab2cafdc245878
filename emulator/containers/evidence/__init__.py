"""Looking at a standing testbed while a run lasts, cheaply: counters of the host, of its containers and of its links.

``counters`` are the values and the host's own, ``control_groups`` finds and reads those of a container, ``consoles``
holds a command open in a container, ``link_counts`` reads what tc says there, ``standstills`` listens to what the
engine tells of containers, and ``lookout`` is all of that as one thing. Nothing here needs a privilege; what a host
does not tell is named, and not guessed.
"""
