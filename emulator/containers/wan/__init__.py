"""The wide area: access links at the clusters' edges and delays in the router, programmed for a dilation and measured.

``program`` turns a topology into tc commands (pure), ``stand`` says which containers it is about, ``router`` and
``edges`` apply the commands, ``readback`` compares what tc reports with the topology, ``wide_area`` is all of that as
one thing, ``probe`` runs inside the clusters and sends time-stamped packets, and ``verify`` measures with it what was
asked for. Users of this package call ``wide_area.program_wide_area``, ``wide_area.programmed_dilation`` and
``verify.verify_wide_area``.
"""
