"""What the broker knows, in memory and on disk.

journal         every event, numbered, on disk
journal_tables  the tables of that file
recording       events of runs and jobs, written into the journal
changes         changes that happen with their transaction, or not at all
jobs            a job: its request, its state and its timestamps
runs            a run: its clock, its discipline and policy, and its jobs
registry        runs and jobs by their numbers
restore         runs and jobs restored from the journal
"""
