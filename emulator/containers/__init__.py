"""The multicluster as containers: rendered, started, shaped and taken down.

names            what every part is called
addresses        where every part is
rendering        what the Compose file and the settings of the broker follow from
compose          a topology as a Compose file (pure)
common_service   what all services of that file have in common
broker_service   the service of the broker
broker_settings  what the broker reads when it starts: its settings, and keys for real clusters
compose_command  how Compose is called on this host
engine           Docker as this project needs it
docker_address   where this host's engine answers
loopback         whether an address is that of this host
engine_machine   the processors and memory of the machine on which containers run
free_addresses   a subnet and a port that nothing uses
keys             the SSH keys of a testbed

images           what the containers are made of, pulled or built
base_image       the base of every image
building         what every build of an image shares
image_names      what images are called, and where they are kept
image_registry   images pushed to a registry and pulled from it
image_contents   what an image is made of, recorded in its labels
mmdebstrap       the program that makes a base where none can be pulled
wheels           the broker's Python packages, fetched on the host
cache            the folder of what can be fetched again

state            what the host remembers of a testbed
mounted_files    the files that its containers mount
api_port         the port of its API, and another one where that is taken
parts            its containers as rendered, and as they are now
mending          what to do about each part that is not as rendered (pure)
up               bring a testbed up
repair           mend the one that exists
down             take it down
readiness        wait until it is ready
stopped_parts    those of its containers that do not run
inspection       its status now
slurm_nodes      the nodes of a cluster that get no job, and why
home_files       a user's files, copied into the home folders of the clusters
hosts            a testbed over several hosts

prerequisites    what can be said of the host before anything is installed
doctor           what the host has and lacks
this_kernel      what its kernel can do
obstacles        settings of the engine and the host under which no testbed works

programs         programs in the containers that end with the process that started them
local_users      the jobs of other users in the clusters
local_bursts     the bursts of local users at nodes shared in time
telemetry        what containers use of the host during a run
wan              the wide area
monitoring       Prometheus and Grafana beside a testbed
concurrency      several tasks at once
progress         the steps that long work reports
"""
