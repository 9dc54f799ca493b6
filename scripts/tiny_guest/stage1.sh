#!/bin/busybox sh
# The initramfs of the tiny guest: load drivers, wait for the root disk, go there.
bb=/bin/busybox
$bb mount -t devtmpfs dev /dev
for module in /mod/*.ko; do $bb insmod "$module" 2>/dev/null; done
tries=0
while [ ! -b /dev/vda ] && [ $tries -lt 200 ]; do
	$bb usleep 20000
	tries=$((tries + 1))
done
$bb mount -t ext4 -o rw,noatime /dev/vda /root && $bb mount --move /dev /root/dev && exec $bb switch_root /root /sbin/init
echo "NODUS-GUEST the root disk can't be mounted" >/dev/console
$bb poweroff -f
