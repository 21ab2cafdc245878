#!/bin/sh
# Runs the Docker engine of the container as its main process.
set -eu
groups=/sys/fs/cgroup
# In version 2 a control group that hands controllers to groups below it may hold no process itself.
if [ -f "$groups/cgroup.controllers" ]; then
    mkdir -p "$groups/engine"
    for process in $(cat "$groups/cgroup.procs"); do
        echo "$process" >"$groups/engine/cgroup.procs" || true  # it may have ended
    done
    for controller in $(cat "$groups/cgroup.controllers"); do
        echo "+$controller" >"$groups/cgroup.subtree_control"
    done
fi
rm -f /run/docker.pid
exec dockerd
