#!/bin/busybox sh
# The initramfs of the emulated GPU host: load drivers, wait for the root disk, go there.
bb=/bin/busybox
$bb mount -t devtmpfs dev /dev
for module in /mod/*.ko; do $bb insmod "$module" 2>/dev/null; done
tries=0
while [ ! -b /dev/vda ] && [ $tries -lt 400 ]; do
	$bb usleep 20000
	tries=$((tries + 1))
done
$bb mount -t ext4 -o rw,noatime /dev/vda /root && $bb mount --move /dev /root/dev && exec $bb switch_root /root /sbin/gpu-host
echo "GPU-HOST the root disk can't be mounted" >/dev/console
$bb poweroff -f
