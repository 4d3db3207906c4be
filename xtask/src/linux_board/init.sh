#!/bin/busybox sh
# The first program of the board: devices, network, servers, and a shell for the console.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
stty -echo
for module in MODULES; do insmod /modules/$module.ko; done

# At most 30 s each: the probe of the driver, and the link.
await() {
    for _ in $(seq 300); do
        "$@" && return
        usleep 100000
    done
}
await test -e /sys/class/net/eth0
ip link set lo up
ip addr add 10.0.0.2/24 dev eth0
ip link set eth0 up
await grep -q 1 /sys/class/net/eth0/carrier
echo "@ {\"event\":\"boot\",\"program\":\"linux\",\"variant\":\"$(uname -r)\"}"

iperf -s > /tmp/iperf 2>&1 &
iperf -s -u > /tmp/iperf-udp 2>&1 &
iperf3 -s > /tmp/iperf3 2>&1 &
# 0x1389 is iperf's port, in both tables.
await grep -qi ':1389 ' /proc/net/tcp
await grep -qi ':1389 ' /proc/net/udp
await grep -qi ':1451 ' /proc/net/tcp6
echo '@ {"event":"listening"}'

while read -r line; do
    eval "$line"
    echo "@ {\"event\":\"command\",\"status\":$?}"
done
# The console is gone.
poweroff -f
