"""The live driver of the policies: a co-allocating grid scheduler over real clusters.

__main__        the broker's process, as its container runs it
service         the broker's public methods: runs, jobs, views; it watches the clusters
loop            the one thread that owns all state; every other thread posts work to it
submissions     submitted jobs are checked and recorded, all that wait in one transaction
scheduling      the discipline is asked about each event, and its answers are carried out
decision        one decision: the clusters' occupancy becomes the policy's state
deciding        who decides in a run
policy_process  the process in which a researcher's own policy decides, as the broker sees it
policy_worker   what runs in that process
foreign_json    what ranks and policies send, as far as an event can hold it
readings        how full the clusters are, read on threads of their own
pending         the events that wait for readings before they are decided on
capacity        which processors came free without a departure, while jobs wait
cancellation    jobs are cancelled, runs end
recovery        jobs that a killed broker left behind, settled once their clusters are found
status          the waiting jobs and the use of processors, for views and metrics

http            the HTTP interface
jobs            the execution of placed jobs
state           the journal, runs and jobs, and their restoration from the journal
files           the files that jobs read: catalogue, transfers, replicas
"""
