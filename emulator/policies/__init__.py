"""Pure decisions: which job next (queue disciplines) and where it goes (placement policies).

Nothing here reads a clock or performs I/O, and random numbers come only from a generator that is passed in. The broker
and the simulator run the same objects. Only ``registry`` and ``custom_code`` read files, to load a researcher's own
code.

protocols           the interfaces of policies and disciplines, and the events and answers they exchange
state               the read-only system state that a decision is made on
traits              what policies and disciplines state of themselves
placement           placement policies, one file per policy
queues              queue disciplines, one file per family
nodes               scheduling on nodes that several jobs share
background          the controller of the background load
names               the names of policies and disciplines, each with a line about it
registry            policies and disciplines by these names
factory             the discipline, policy and random numbers of a run, made from its request
custom              wrappers of a researcher's own policy or discipline
custom_answers      the answers of such code as plain values
custom_code         such code, loaded from its source
answer_checks       checks of a discipline's answers
request_kinds       conversion of a request to a kind that a policy accepts
feasibility         whether a system could ever run a job
admission           which jobs a run accepts
claiming_procedure  the times at which the processors of a placed job are claimed
bandwidth           bandwidth forecasts between sites, from past transfers
idle_room           the idle processors of many clusters, with the roomiest one found quickly
decisions           a decision as a plain value, and its record
replay              replay of recorded decisions
"""
