#!/bin/sh
# Runs the script in $SCRIPT in the kernel that forwards, once it does, and prints what it prints.
#
# For the guest it leaves the script in /run/wan, names it on the guest's console, and waits for its exit code.
state=/run/wan

await() {
    waits=1500
    until [ "$1" "$2" ]; do
        waits=$((waits - 1))
        [ "$waits" -gt 0 ] || { echo "the router does not answer within 30 seconds" >&2; exit 75; }
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
