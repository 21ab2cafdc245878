#!/bin/sh
# The router's entry point: chooses the kernel that forwards, names the interfaces after the sites, and waits.
#
# Every interface with an address 10.X.(128+i).2 is named `site<i>`, in whatever order Docker attached the networks. The
# same tc commands therefore work with both backends:
#   kernel  the host's kernel, in this container's network namespace;
#   uml     a User-Mode Linux guest that takes the interfaces over through raw sockets (guest.sh is its init).
# WAN_HARDWARE=interface makes the guest take over the interfaces' hardware addresses, which an overlay network needs:
# there, Docker itself answers address resolution, and knows no other addresses.
# WAN_BACKEND=kernel|uml|auto; auto uses the host's kernel if it has netem, and what chooses the delay line of a packet.
# /run/wan/backend names the backend in use; /run/wan/ready exists once the router forwards.
set -eu
state=/run/wan
mkdir -p "$state"
rm -rf "${state:?}"/*

# What tc said first of what it could not do.
refusal=
try() {
    answer=$("$@" 2>&1) || {
        refusal=${refusal:-$(echo "$answer" | head -n 1)}
        return 1
    }
}

host_has_netem() {
    try tc qdisc add dev lo root handle 1: prio || return 1
    has=yes
    try tc qdisc add dev lo parent 1:1 netem || has=
    try tc filter add dev lo parent 1: protocol ip prio 1 u32 match u32 0 0 flowid 1:1 || has=
    tc qdisc del dev lo root
    [ -n "$has" ]
}

backend=${WAN_BACKEND:-auto}
if [ "$backend" = auto ]; then
    if host_has_netem; then backend=kernel; else backend=uml; fi
fi
case $backend in
    kernel) host_has_netem || {
        echo "The host's kernel has no sch_netem (or no sch_prio or cls_u32), as tc says ($refusal):" \
            "use uml or auto." >&2
        exit 1
    } ;;
    uml) command -v linux.uml >/dev/null || {
        echo "This host's kernel has no sch_netem${refusal:+ (tc: $refusal)}, and User-Mode Linux does not" \
            "exist for its processors." >&2
        exit 1
    } ;;
    *) echo "WAN_BACKEND must be kernel, uml or auto, not '$backend'." >&2; exit 1 ;;
esac
echo "$backend" >"$state/backend"

# One line per site: the interface, its address with prefix, and the site's index.
ip -o -4 addr show scope global | awk '{ split($4, octet, "[./]") }
    octet[1] == 10 && octet[3] >= 128 && octet[4] == 2 { print $2, $4, octet[3] - 128 }' >"$state/interfaces"

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

# The guest owns the addresses, so this container's kernel must neither answer for them nor forward. The hardware address
# of a guest interface is derived from its IP address, so that neighbour tables stay valid after a new boot.
#
# The filter (classic BPF: load the packet's type, drop if outgoing, else accept the whole packet) drops the guest's own
# packets. Without it the guest would receive every packet that it sends.
printf '\060\0\0\0\004\360\377\377\025\0\001\0\004\0\0\0\006\0\0\0\0\0\004\0\006\0\0\0\0\0\0\0' \
    >"$state/incoming.bpf"
[ "${WAN_HARDWARE:-}" != interface ] || ip route del default 2>/dev/null || true
devices=
number=0
while read -r interface address index; do
    ip addr flush dev "$interface"
    if [ "${WAN_HARDWARE:-}" = interface ]; then
        hardware=$(cat "/sys/class/net/$interface/address")
    else
        hardware=$(echo "$address" | awk -F'[./]' '{ printf "02:77:%02x:%02x:%02x:%02x", $1, $2, $3, $4 }')
    fi
    devices="$devices vec$number:transport=raw,ifname=$interface,depth=64,gro=0,mac=$hardware,bpffile=$state/incoming.bpf"
    echo "vec$number $address $index" >>"$state/guest-interfaces"
    number=$((number + 1))
done <"$state/interfaces"

mkfifo "$state/console"
# The pipe is held open for reading and writing, so that the guest's console never reads an end of file.
exec 3<>"$state/console"
# The guest must not be the container's first process: if it panics it kills itself by a signal, which the first process
# of a container does not receive.
# shellcheck disable=SC2086  # one word per device
LD_PRELOAD=/opt/wan/uml_xstate_shim.so:/opt/wan/uml_receive_buffers.so TMPDIR=/dev/shm linux.uml mem=128M \
    rootfstype=hostfs rootflags=/ ro init=/opt/wan/guest.sh con=null con0=fd:0,fd:1 quiet $devices \
    <&3 >"$state/guest.log" 2>&1 &
wait
rm -f "$state/ready"
cat "$state/guest.log"
echo "The router's guest kernel has ended: $(grep -i -m1 panic "$state/guest.log" || tail -n 1 "$state/guest.log")" >&2
exit 1
