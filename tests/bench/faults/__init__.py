"""Faults of every kind on a testbed under load, and the books checked afterwards.

drawing   which faults are drawn, pure
books     what must be true of the books afterwards, pure
load      jobs without end, each of which writes down where it runs
faults    how each fault is made and ended on containers
site      the testbed: brought up, seen, mended and taken down
"""
