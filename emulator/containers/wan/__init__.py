"""The wide area: access links at the clusters' edges and delays in the router, programmed for a dilation and measured.

To program: ``program`` turns a topology into tc commands (pure), ``stand`` says which containers it is about,
``unshared`` gives connections links of their own, ``controls`` says how the wide area of a control run differs,
``router`` and ``edges`` apply the commands, ``readback`` compares what tc reports with the topology, and ``wide_area``
is all of that as one thing.

To measure: ``probe`` runs inside the clusters and exchanges time-stamped packets by a ``schedule``, ``rounds`` says
which streams tell a quantity (pure), ``measurements`` judges them (pure), ``verification`` carries rounds out, and
``verify`` is its two forms.

Users of this package call ``wide_area.program_wide_area`` and ``programmed_wide_area``, ``verify.verify_wide_area`` and
``check_wide_area``, and give ``program.kernel_settings`` to every cluster's container.
"""
