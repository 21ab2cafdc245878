#!/bin/sh
# Exits 0 if all daemons of the cluster run, its controller answers, and none of its nodes is down.
#
# Else prints what is wrong, a line for each fault, and exits 1.
faults=0
fault() {
    echo "$1"
    faults=1
}

[ -f /run/testbed/ready ] || fault "has not started yet"
running=$(pgrep -a -x 'munged|slurmctld|sshd|slurmd')
for daemon in munged slurmctld sshd; do
    echo "$running" | grep -q "$daemon.* -D\|$daemon.* --foreground" || fault "has no $daemon"
done

nodes=" $(echo "$running" | awk '/ slurmd / { print $NF }' | tr '\n' ' ')"
missing=
index=1
while [ "$index" -le "$TESTBED_NODES" ]; do
    case $nodes in *" n$index "*) ;; *) missing="$missing n$index" ;; esac
    index=$((index + 1))
done
[ -z "$missing" ] || fault "has no slurmd for$missing"
[ -z "$TESTBED_TIME_SHARING" ] || pgrep -f 'apps[.]arbiter' > /dev/null || fault "has no arbiter"

if ! echo "$running" | grep -q "slurmctld -D"; then
    exit 1
elif states=$(timeout 10 sinfo --noheader --format='%t %N' 2>&1); then
    down=$(echo "$states" | awk '/^(down|unk)/ || $1 ~ /[*]/ { print $2 }' | tr '\n' ' ')
    [ -z "$down" ] || fault "has nodes that Slurm counts as down: ${down% }"
else
    fault "has a Slurm that does not answer"
fi
exit "$faults"
