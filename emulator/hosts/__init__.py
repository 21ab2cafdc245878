"""Several hosts that carry one testbed: their inventory, which cluster goes where, and what each lacks. Pure.

inventory        the hosts as their user writes them
facts            what is known of a host before a testbed spreads over it
checks           what hosts lack, with the remedies
subnets          a subnet for a testbed that nothing else uses
engine_versions  which engines carry a testbed
engine_options   options of an engine under which it carries none
layout           which host carries which cluster
"""
