"""Pure decisions: which job next (queue disciplines) and where it goes (placement policies).

Nothing here knows a clock, performs I/O or draws random numbers but from a generator it is given; the broker and the
simulator run the very same objects.

    protocols     the two questions as interfaces, and the events and answers they exchange
    state         the read-only view of the system that a decision is made on
    placement/    one file a placement policy
    queues/       one file a queue discipline
    registry      the policies and disciplines by the names that the command line knows
    deciding      discipline, policy and random numbers of a run, made of what its request states
    possibility   whether a system could ever run a job
    admitting     which jobs a run takes
    claiming      when the processors of a placed job are claimed, and claimed again
    bandwidth     what a transfer between two sites may expect, from past ones
    decisions     a decision as a plain value, and its record
    replaying     recorded decisions made again
"""
