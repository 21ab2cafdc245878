#!/bin/sh
# The router's entry point: chooses the kernel that forwards, names its interfaces after the sites, and waits.
#
# Every interface with an address 10.X.(128+i).2 becomes `site<i>`, whatever order Docker attached the networks in, so
# that one program of tc commands fits both backends:
#   kernel  the host's own kernel, in this container's network namespace;
#   uml     a User-Mode Linux guest that takes the interfaces over through raw sockets (guest.sh is its init).
# WAN_BACKEND=kernel|uml|auto; auto takes the host's kernel if it has netem.
# /run/wan/backend says which one it is, /run/wan/ready that it forwards.
set -eu
state=/run/wan
mkdir -p "$state"
rm -rf "${state:?}"/*

host_has_netem() {
    tc qdisc add dev lo root netem 2>/dev/null && tc qdisc del dev lo root
}

backend=${WAN_BACKEND:-auto}
if [ "$backend" = auto ]; then
    if host_has_netem; then backend=kernel; else backend=uml; fi
fi
case $backend in
    kernel) host_has_netem || { echo "The host's kernel has no sch_netem: use the backend uml or auto." >&2; exit 1; } ;;
    uml) command -v linux.uml >/dev/null || {
        echo "This host's kernel has no sch_netem, and User-Mode Linux does not exist for its processors." >&2
        exit 1
    } ;;
    *) echo "WAN_BACKEND must be kernel, uml or auto, not '$backend'." >&2; exit 1 ;;
esac
echo "$backend" >"$state/backend"

# One line per site: interface, its address with prefix, the site's index.
ip -o -4 addr show scope global | awk '{ split($4, octet, "[./]"); if (octet[3] >= 128) print $2, $4, octet[3] - 128 }' \
    >"$state/interfaces"

trap 'exit 0' TERM INT

if [ "$backend" = kernel ]; then
    [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 ] || {
        echo "The router may not forward: start it with the sysctl net.ipv4.ip_forward=1." >&2
        exit 1
    }
    while read -r interface address index; do
        ip link set dev "$interface" down
        ip link set dev "$interface" name "site$index"
        ip link set dev "site$index" up gso_max_segs 1
    done <"$state/interfaces"
    touch "$state/ready"
    sleep infinity &
    wait
    exit 0
fi

# The guest owns the addresses: this container's kernel must neither answer for them nor forward. Each guest interface
# has a hardware address that follows from its address, so that a new boot leaves no stale neighbours behind.
#
# The filter (classic BPF: load the packet's type, refuse if outgoing, else take it whole) keeps from the guest what it
# sends itself; without it every packet would cost the guest twice.
printf '\060\0\0\0\004\360\377\377\025\0\001\0\004\0\0\0\006\0\0\0\0\0\004\0\006\0\0\0\0\0\0\0' \
    >"$state/incoming.bpf"
devices=
number=0
while read -r interface address index; do
    ip addr flush dev "$interface"
    hardware=$(echo "$address" | awk -F'[./]' '{ printf "02:77:%02x:%02x:%02x:%02x", $1, $2, $3, $4 }')
    devices="$devices vec$number:transport=raw,ifname=$interface,depth=64,gro=0,mac=$hardware,bpffile=$state/incoming.bpf"
    echo "vec$number $address $index" >>"$state/guest-interfaces"
    number=$((number + 1))
done <"$state/interfaces"

mkfifo "$state/console"
# Held open for reading and writing, so that the guest's console never sees an end of file.
exec 3<>"$state/console"
# Not the container's first process: a panicking guest ends itself by a signal, which the first process never feels.
# shellcheck disable=SC2086  # one word per device
LD_PRELOAD=/opt/wan/wide_registers.so TMPDIR=/dev/shm linux.uml mem=128M rootfstype=hostfs rootflags=/ ro \
    init=/opt/wan/guest.sh con=null con0=fd:0,fd:1 quiet $devices <&3 >"$state/guest.log" 2>&1 &
wait
rm -f "$state/ready"
cat "$state/guest.log"
echo "The router's guest kernel has ended: $(grep -i -m1 panic "$state/guest.log" || tail -n 1 "$state/guest.log")" >&2
exit 1
