"""The live driver of the policies: a co-allocating grid scheduler over real clusters.

api         HTTP in front: requests in, views and events out
service     the broker itself: takes runs and jobs, shows them, keeps its clusters watched
register    runs and jobs by their numbers: which run holds the testbed, which takes jobs
loop        the one thread that owns all state; every other thread posts to it
runs        a run: its clock, its discipline and policy, and its jobs
scheduling  a job from decision to end: answers become jobs' lives, and lives report back
ending      a job is cancelled wherever it is, a run lets go of the testbed
errands     what a placed job's thread is to do
placing     a scheduling event and the clusters' occupancy -> the discipline's answers, recorded
looking     what came free without a departure while jobs wait, and when to look for it
files       the files that jobs read: catalogue, transfers, replicas; files_api puts them behind HTTP
claiming    one allocation per cluster of a placement, all or none
running     a placed job's life on a thread of its own: claim, start, follow, release
life_events what such a life reports, and how it ends
runners     how MPI ranks are started, heard and waited for
ranks       the script that starts them across clusters inside their allocations
programs    the command line of each of them
plain       plain programs: one process a processor, without MPI
outputs     what jobs write, on disk within a limit
admission   submissions become jobs, all that wait in one transaction
census      how things stand now: who waits, and what processors do
metrics     the same and what has been, for Prometheus
limits      how much of a request is read, and of whom
event_feed  events for those who wait for them
plain_json  JSON that means one thing to every reader
logs        one line a record, whatever is in it
journal     every event, in order, on disk
remembering runs and jobs made again from the journal of a broker that was killed
recovery    what that broker left half done, settled once the clusters are found
"""
