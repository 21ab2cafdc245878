"""Runs that hold the testbed: campaigns of many jobs, and measurements of extension factors.

``holding`` takes the testbed for a run and gives it back whatever happens; ``load`` is the subprocess that submits a
schedule; ``recording`` turns the broker's events into rows and ``run_directory`` keeps them in files; ``live`` and
``extension`` are the two kinds of run; ``statistics`` has their means and confidence intervals, ``surroundings`` what a
manifest says of the host; ``standing_testbed`` joins all this to the containers that stand.
"""
