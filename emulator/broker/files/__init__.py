"""The files that jobs read: where replicas are, and how they come to the sites where jobs run.

catalogue   which site holds which file, and which jobs use it, on disk
transfers   transfers, each on a thread of its own, and the jobs that wait for them
operations  transfers and removals under way, one at a time per file and site
replicas    replicas are brought for jobs, counted by their users, and removed after the last
registry    files that users register and remove
disk_space  the disk of each host, checked and reserved before files are written
"""
