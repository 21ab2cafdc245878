"""A node's processor that several tasks share: pure, event-driven and exact, in emulated time.

rules       the time-sharing rules by name, and the social contract with local users
processor   one processor: tasks want it, wait, poll and are woken; the rule says who has it when
task        a task of a processor, and which of two is next
rates       how fast each task of a shared processor advances on average, from shares alone
local_work  what a local user wants: bursts of processor time, and how long one was delayed
arbiter     a shared processor that real tasks ask for, each with a timestamp

It needs the standard library only, so that it can run inside a node. What the tasks compute and which messages they
wait for is the driver's business: it states wishes, advances the processor from event to event, and is told which wish
has been met.
"""
