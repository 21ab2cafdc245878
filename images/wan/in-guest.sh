#!/bin/sh
# Runs the script in $SCRIPT inside the guest: leaves it in /run/wan, names it on the guest's console, waits for its
# exit code, and prints what it printed.
state=/run/wan
await() {
    waits=1500
    until [ -e "$1" ]; do
        waits=$((waits - 1))
        [ "$waits" -gt 0 ] || { echo "The router's guest does not answer within 30 seconds." >&2; exit 75; }
        sleep 0.02
    done
}
await "$state/ready"
number=$$-$(date +%s%N)
printf '%s\n' "$SCRIPT" >"$state/$number.sh"
echo "$number" >"$state/console"
await "$state/$number.status"
cat "$state/$number.out"
status=$(cat "$state/$number.status")
rm -f "$state/$number".*
exit "$status"
