#!/bin/sh
# Waits until the router forwards (a busy host takes long to start its guest), runs the script in $SCRIPT in the kernel that forwards, and prints its output.
#
# For the guest it writes the script to /run/wan, its number to the guest's console, and waits for the exit code.
state=/run/wan

await() {
    waits=6000
    until [ "$1" "$2" ]; do
        waits=$((waits - 1))
        [ "$waits" -gt 0 ] || { echo "the router does not answer within two minutes" >&2; exit 75; }
        sleep 0.02
    done
}

await -e "$state/ready"
[ "$(cat "$state/backend")" = uml ] || exec sh -c "$SCRIPT"

number=$$-$(date +%s%N)
printf '%s\n' "$SCRIPT" >"$state/$number.sh"
echo "$number" >"$state/console"
await -s "$state/$number.status"
cat "$state/$number.out"
status=$(cat "$state/$number.status")
rm -f "$state/$number".*
exit "$status"
