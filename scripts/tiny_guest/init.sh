#!/bin/busybox sh
# The tiny guest's first process: mounts, network, the first-boot document of its NoCloud seed, the guest agent; then it collects the dead.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o mode=0755 run /run
mount -t tmpfs -o mode=1777 tmp /tmp
mkdir -p /dev/pts /dev/shm /dev/virtio-ports /run/sshd /run/seed /run/lock
mount -t devpts -o gid=5,mode=620,ptmxmode=666 pts /dev/pts
ln -sf /proc/self/fd /dev/fd
for name in stdin:0 stdout:1 stderr:2; do ln -sf "/proc/self/fd/${name#*:}" "/dev/${name%:*}"; done
for port in /sys/class/virtio-ports/*; do
	[ -r "$port/name" ] && ln -s "../${port##*/}" "/dev/virtio-ports/$(cat "$port/name")"
done
ip link set lo up
ip link set eth0 up 2>/dev/null && udhcpc -i eth0 -t 20 -T 1 -A 1 -S -s /etc/udhcpc.sh >/dev/null 2>&1 &

# The seed is a disk whose ISO 9660 label is cidata.
for disk in /sys/block/vd*; do
	device=/dev/${disk##*/}
	label=$(dd if="$device" bs=1 skip=32808 count=6 2>/dev/null)
	case $label in cidata | CIDATA) mount -t iso9660 -o ro "$device" /run/seed && break ;; esac
done
name=$(sed -n 's/^local-hostname: *//p' /run/seed/meta-data 2>/dev/null)
hostname "${name:-tiny}"

[ -e /dev/virtio-ports/org.qemu.guest_agent.0 ] &&
	qemu-ga -d -m virtio-serial -p /dev/virtio-ports/org.qemu.guest_agent.0 -t /run -f /run/qemu-ga.pid >/dev/null 2>&1

# As cloud-init does with a boothook: run at each boot, the line that names its kind left out.
if [ "$(head -n 1 /run/seed/user-data 2>/dev/null)" = "#cloud-boothook" ]; then
	mkdir -p -m 700 /run/boothook
	tail -n +2 /run/seed/user-data >/run/boothook/first-boot
	umount /run/seed
	chmod 700 /run/boothook/first-boot
	/run/boothook/first-boot >/dev/console 2>&1 </dev/null
else
	echo "NODUS-GUEST no first-boot document" >/dev/console
fi
while :; do wait; sleep 5; done
