"""Pure decisions: which job next (queue disciplines) and where it goes (placement policies).

Nothing here reads a clock or performs I/O, and random numbers come only from a generator that is passed in. The broker
and the simulator run the same objects. Only `registry` and `custom_code` read files, to load a researcher's own code.

    protocols            the interfaces of policies and disciplines, and the events and answers they exchange
    state                the read-only system state that a decision is made on
    placement/           placement policies, one file per policy
    queues/              queue disciplines, one file per family
    registry             policies and disciplines by the names used on the command line
    custom, custom_*     a researcher's own policy or discipline, its answers and its code
    factory              the discipline, policy and random numbers of a run, made from its request
    answer_checks        checks of a discipline's answers
    request_kinds        conversion of a request to a kind that a policy accepts
    feasibility          whether a system could ever run a job
    admission            which jobs a run accepts
    claiming_procedure   the times at which the processors of a placed job are claimed
    bandwidth            bandwidth forecasts between sites, from past transfers
    decisions            a decision as a plain value, and its record
    replay               replay of recorded decisions
"""
