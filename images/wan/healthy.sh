#!/bin/sh
# Exits 0 if the router is ready and its kernel answers.
[ -e /run/wan/ready ] && SCRIPT=true sh /opt/wan/run.sh
