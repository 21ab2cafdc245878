"""The wide area: access links at the clusters' edges and delays in the router, programmed for a dilation and measured.

To program it:

program       a topology and a dilation as values (pure)
commands      these values as commands of tc (pure)
controls      how the wide area of a control run differs (pure)
handle        the containers that it consists of
unshared      a link of its own for each connection
router        the commands applied in the router
edges         the commands applied at the clusters' ends
readback      what tc reports, compared with the topology
wide_area     all of that

To measure it:

probe         the program in the clusters that exchanges time-stamped packets
schedule      streams of packets, and the probes run for them
rounds        which streams measure a quantity (pure)
measurements  the judgement of the streams (pure)
verification  the rounds, run
verify        the full and the short form of a verification

To load it:

sender        the program in the clusters that sends steady background traffic
traffic       that program, started and ended

Users of this package call ``wide_area.program_wide_area`` and ``programmed_wide_area``, ``verify.verify_wide_area`` and
``check_wide_area``, and give ``program.kernel_settings`` to every cluster's container.
"""
