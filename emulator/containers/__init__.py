"""The multicluster as containers: rendered, started, shaped and taken down.

names, addresses        what every part is called, and where it is
compose                 a topology as a Compose file (pure)
images, base_image      what the containers are made of
image_names, building, wheels, image_contents, mmdebstrap
                        what belongs to images
engine                  Docker as this project needs it; compose_command is how Compose is called
docker_address, loopback
                        where the engine answers, and whether that is this host
free_addresses, keys    a free subnet and port; the SSH keys
state, mounted_files    what the host remembers of a testbed, and the files that its containers mount
parts                   its containers as rendered, and as they are now
mending                 what to do about each part that is not as rendered (pure)
up, repair, down        bring a testbed up, mend it, take it down
readiness, inspection   wait until a testbed is ready; look at it
slurm_nodes             the nodes of a cluster that get no job, and why
home_files              a user's files, copied into the home folders of the clusters
doctor, this_kernel     what the host has and lacks; what its kernel can do
engine_machine          the processors and memory of the machine on which containers run
obstacles               settings of the engine and the host under which no testbed works
prerequisites           what can be said of the host before anything is installed
cache                   the folder of what can be fetched again
programs, local_users   programs in the containers that end with the process that started them; jobs of others
usage, telemetry        what containers use of the host, once and during a run
wan                     the wide area
monitoring              Prometheus and Grafana beside a testbed
concurrency, progress   several tasks at once; the steps that long work reports
"""
