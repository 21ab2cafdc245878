#!/bin/sh
# Init of the User-Mode Linux guest: brings the interfaces up, turns forwarding on, and runs scripts on request.
#
# Its root is the container's read-only file system; /run/wan is mounted a second time for writing, on /mnt. Each line on
# the console is the number of a script there (<number>.sh). The output goes to <number>.out and then the exit code to
# <number>.status, for which run.sh waits. Waiting for a line costs no CPU.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
mount -t proc none /proc
mount -t sysfs none /sys 2>/dev/null
mount -t hostfs -o /run/wan none /mnt
# Starting a program in the guest takes tens of milliseconds: so few are started, here and later.
for module in net/sched/sch_netem net/sched/sch_prio net/sched/cls_u32 net/sched/sch_htb; do
    insmod /usr/lib/uml/modules/*/kernel/"$module.ko" || echo "The guest cannot load $module."
done
while read -r device address index; do
    echo "link set dev $device name site$index"
    echo "addr add $address dev site$index"
    echo "link set dev site$index up"
done </mnt/guest-interfaces >/mnt/interfaces.batch
ip -batch /mnt/interfaces.batch
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
echo 0 >/proc/sys/net/ipv4/conf/default/rp_filter
echo 1 >/proc/sys/net/ipv4/ip_forward
stty -echo 2>/dev/null
: >/mnt/ready
while :; do
    while read -r number; do
        ( . "/mnt/$number.sh" ) >"/mnt/$number.out" 2>&1
        echo $? >"/mnt/$number.status"
    done
done
