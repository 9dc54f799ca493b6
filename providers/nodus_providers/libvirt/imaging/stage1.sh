#!/bin/busybox sh
# The initrd of our images: load the drivers of a virtio disk, wait for the second partition of the first one, go there.
bb=/bin/busybox
$bb mount -t devtmpfs dev /dev
for module in /mod/*.ko; do $bb insmod "$module" 2>/dev/null; done
tries=0
while [ ! -b /dev/vda2 ] && [ $tries -lt 500 ]; do
	$bb usleep 20000
	tries=$((tries + 1))
done
$bb mount -t ext4 -o rw,noatime /dev/vda2 /root && $bb mount --move /dev /root/dev && exec $bb switch_root /root /sbin/init
echo "nodus: the root file system on /dev/vda2 can't be mounted" >/dev/console
$bb poweroff -f
