#!/bin/sh
# Exits 0 if the cluster has started, its controller answers, and none of its nodes is down.
test -f /run/testbed/ready || exit 1
states=$(sinfo --noheader --format=%t) || exit 1
! echo "$states" | grep -q -e down -e unk -e '\*'
