#!/bin/sh
# Runs the script in $SCRIPT in the host's kernel, in the router's network namespace, once the router is ready.
waits=600
until [ -e /run/wan/ready ]; do
    waits=$((waits - 1))
    [ "$waits" -gt 0 ] || { echo "The router does not forward within 30 seconds." >&2; exit 75; }
    sleep 0.05
done
exec sh -c "$SCRIPT"
