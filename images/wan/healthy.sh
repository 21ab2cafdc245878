#!/bin/sh
# Exits 0 if the router is ready and its kernel answers; else prints what is wrong and exits 1.
[ -e /run/wan/ready ] || { echo "has not started yet"; exit 1; }
SCRIPT=true timeout 8 sh /opt/wan/run.sh >/dev/null 2>&1 || { echo "has a kernel that does not answer"; exit 1; }
