#!/bin/sh
# Runs the broker as a user of its own.
#
# What is mounted at /etc/testbed belongs to whoever brought the testbed up, and only root can read it: the broker's user
# gets copies at /run/broker, which is kept in memory, and the volume. Of root's capabilities it keeps CAP_SETUID,
# CAP_SETGID and CAP_KILL, to run a researcher's policy as yet another user and to end it. It can gain no others.
set -eu
umask 077
folder=/run/broker volume=/var/lib/testbed
mkdir -p "$folder"
# An engine that starts the container again mounts the folder anew, with other rights.
chmod 700 "$folder"
rm -rf "${folder:?}"/*
cp -RL /etc/testbed/. "$folder"
chown -R broker:broker "$folder"
[ "$(stat -c %U "$volume")" = broker ] || chown -R broker:broker "$volume"
export HOME="$folder"
# The user's ssh-agent, if it holds a key for a real cluster. It talks to root, so the connection is made before.
[ -e /root/ssh-agent ] && set -- python3 /opt/broker/with_agent.py /root/ssh-agent
exec "$@" setpriv --reuid=broker --regid=broker --clear-groups --no-new-privs --inh-caps=-all,+setuid,+setgid,+kill \
    --ambient-caps=-all,+setuid,+setgid,+kill --bounding-set=-all,+setuid,+setgid,+kill \
    python3 -m emulator.broker "$folder/broker.json"
