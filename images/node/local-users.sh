#!/bin/bash
# The local users of this cluster: submits and cancels their jobs, as the lines on standard input say, and prints what
# becomes of these jobs. When its input ends, all of them are cancelled, so whoever asked may be killed at any moment.
# With the argument `clear` it only cancels them.
#
#   submit NAME ACCOUNT PROCESSORS HOST_SECONDS
#   prolong NAME HOST_SECONDS
#   cancel NAME
#   list NUMBER
#
# Their jobs may wait in Slurm's queue. They are `nice`, so that what waits there does not keep the grid's claims from
# processors that are idle.
#
# It prints `started TIME NAME`, `ended TIME NAME`, `refused TIME NAME REASON` and `listed TIME NUMBER IDLE NAME:STATE...`
# with timestamps of the host's wall clock. A job says itself when it starts and ends. The shell itself knows the time: a
# job that is cancelled as it starts would lose a program that it asked.
ACCOUNTS="background local"
NICE=100000
folder=${TESTBED_LOCAL_USERS:-/run/testbed/local-users}
events=$folder/events

cancel_all() {
    for account in $ACCOUNTS; do
        scancel --quiet --user="$account" < /dev/null
    done
}

note() {
    echo "$1 ${EPOCHREALTIME/,/.} $2" >> "$events"
}

job() {
    cat <<JOB
#!/bin/bash
note() { echo "\$1 \${EPOCHREALTIME/,/.} \$SLURM_JOB_NAME" >> $events; }
trap 'note ended; exit 0' TERM INT HUP
note started
length=$1
turn=0
while [ -n "\$length" ]; do
    sleep "\$length" &
    wait
    turn=\$((turn + 1))
    length=\$(sed -n "\${turn}p" "$folder/more-\$SLURM_JOB_NAME" 2> /dev/null)
done
note ended
JOB
}

submit() {
    local reason
    reason=$(job "$4" | setpriv --reuid="$2" --regid="$2" --clear-groups \
        sbatch --job-name="$1" --nice="$NICE" --ntasks="$3" --cpus-per-task=1 --chdir=/ \
            --output=/dev/null --error=/dev/null 2>&1) ||
        note refused "$1 $(echo "$reason" | tail -n 1)"
}

# A job reads the lines of this file one after another, whenever it has slept for as long as it was told.
prolong() {
    echo "$2" >> "$folder/more-$1"
}

# A job that has not started runs no script that could say that it ended.
cancel() {
    local state
    state=$(squeue --noheader --name="$1" --format=%t < /dev/null)
    scancel --quiet --name="$1" < /dev/null
    [ "$state" = R ] || note ended "$1"
}

list() {
    local idle jobs
    idle=$(sinfo --noheader --format=%C < /dev/null | cut -d/ -f2)
    jobs=$(squeue --noheader --user="${ACCOUNTS// /,}" --states=PENDING,RUNNING --format=%j:%t < /dev/null | tr '\n' ' ')
    note listed "$1 $idle ${jobs% }"
}

cancel_all
[ "$1" = clear ] && exit 0
mkdir -p "$folder"
rm -f "$folder"/more-*
: > "$events"
chmod 666 "$events"
trap cancel_all EXIT
tail -n +1 -f --pid=$$ "$events" &
while read -r verb arguments; do
    # Words of numbers and names only: nothing in them is for the shell to expand.
    set -f
    case $verb in
        submit) submit $arguments ;;
        prolong) prolong $arguments ;;
        cancel) cancel $arguments ;;
        list) list $arguments ;;
    esac
done
