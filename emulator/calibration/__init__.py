"""Processor profiles from published, known or measured runtimes.

measurements    jobs that measure the overhead of an iteration, and the speed of this host
profile         the profile with which a job takes its known time
profile_files   writing a profile into a YAML file
"""
