"""Processor profiles, and numbers of topologies, from published, known or measured runtimes.

measurements    jobs that measure the overhead of an iteration, and the speed of this host
profile         the profile with which a job takes its known time
profile_files   writing a profile into a YAML file
run_table       a recorded run as a table of known runtimes
table_fit       a topology's numbers from such a table: what is shown, stored and written
topology_files  writing a fitted topology into a YAML file
"""
