#!/bin/sh
# The first process of a guest: makes its file systems, names its interfaces, and carries out the commands that natmeter
# sends over a serial port of its own. Each request is a line: the time limit in seconds, a shell script and its standard
# input in base64 (`-` if empty). The answer is a line, exit status, whether the limit passed, octets of both outputs,
# and then the outputs.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
box=/bin/busybox
[ -x $box ] || box=/usr/bin/busybox
$box mount -t proc proc /proc
$box mount -t sysfs sys /sys
$box mount -t devtmpfs dev /dev 2>/dev/null
$box mount -t tmpfs run /run
$box mkdir -p /opt/busybox
$box --install -s /opt/busybox
PATH=$PATH:/opt/busybox
for module in virtio_pci virtio_console virtio_net ipv6 nf_conntrack; do modprobe -q $module; done
ip link set lo up
# The kernel's own frames would be foreign ones on the tester's ports.
for which in all default; do
    for key in accept_ra=0 accept_dad=0 addr_gen_mode=1; do
        sysctl -qw net.ipv6.conf.$which.$key 2>/dev/null
    done
done
for link in "left $nic_left" "right $nic_right" "control $nic_control"; do
    set -- $link
    for file in /sys/class/net/*/address; do
        read -r address <"$file"
        device=${file%/address}
        [ "$address" != "$2" ] || ip link set "${device##*/}" name "$1"
    done
    [ -z "$2" ] || ip link set "$1" up || echo "natmeter: there is no interface $1 with the address $2"
done
port=/dev/ttyS0
for virtio in /dev/vport*; do [ ! -e "$virtio" ] || port=$virtio; done
exec 3<>$port
[ $port != /dev/ttyS0 ] || stty raw -echo <&3
cd /run || exit
echo ready >&3
contents() { [ "$1" = - ] || echo "$1" | base64 -d; }
while IFS=' ' read -r limit script input <&3; do
    contents "$script" >/run/.script
    contents "$input" >/run/.input
    rm -f /run/.late
    # With a path, because busybox prefers its own shell, which prefers its own `ip`.
    setsid /bin/sh /run/.script </run/.input >/run/.out 2>/run/.err 3<&- &
    job=$!
    setsid /bin/sh -c "sleep $limit; : >/run/.late; kill -s KILL -- -$job" </dev/null >/dev/null 2>&1 3<&- &
    watch=$!
    wait $job 2>/dev/null
    status=$?
    # It may not lead its group yet.
    kill -s KILL -- -$watch $watch 2>/dev/null
    wait $watch 2>/dev/null
    late=0
    [ ! -e /run/.late ] || late=1
    echo "$status $late $(wc -c </run/.out) $(wc -c </run/.err)" >&3
    cat /run/.out /run/.err >&3
done
poweroff -f
