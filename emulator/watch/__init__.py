"""A running testbed, watched from a terminal: what the live page shows, in Python.

known      all that is known of the run that is watched
following  a broker's status and events, read for as long as somebody watches
moment     what there is to show now: processors by use, the queue, jobs, verdict lights

The page keeps the same in JavaScript (``emulator/page/assets``); both read the same requests of the API.
"""
