"""The wide area: access links at the clusters' edges and delays in the router, programmed for a dilation and measured.

To program it: ``program`` turns a topology into values and ``commands`` turns these into tc commands (both pure),
``handle`` says which containers it consists of, ``unshared`` gives each connection a link of its own, ``controls`` says
how the wide area of a control run differs, ``router`` and ``edges`` apply the commands, ``readback`` compares what tc
reports with the topology, and ``wide_area`` does all of that.

To measure it: ``probe`` runs inside the clusters and exchanges time-stamped packets by a ``schedule``, ``rounds`` says
which streams measure a quantity (pure), ``measurements`` judges them (pure), ``verification`` runs rounds, and
``verify`` has its full and its short form.

To load it: ``sender`` runs inside the clusters and sends steady background traffic, which ``traffic`` starts and ends.

Users of this package call ``wide_area.program_wide_area`` and ``programmed_wide_area``, ``verify.verify_wide_area`` and
``check_wide_area``, and give ``program.kernel_settings`` to every cluster's container.
"""
