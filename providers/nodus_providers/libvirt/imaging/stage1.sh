#!/bin/busybox sh
# The initrd of our images: load the drivers of a virtio disk, wait for the root file system, go there. That is on the second partition of
# the first disk, and /sbin/init comes next, unless the file /where names another device and another program, as in guests of tests.
bb=/bin/busybox
root=/dev/vda2 init=/sbin/init
[ ! -e /where ] || read -r root init </where
$bb mount -t devtmpfs dev /dev
for module in /mod/*.ko; do $bb insmod "$module" 2>/dev/null; done
tries=0
while [ ! -b "$root" ] && [ $tries -lt 500 ]; do
	$bb usleep 20000
	tries=$((tries + 1))
done
$bb mount -t ext4 -o rw,noatime "$root" /root && $bb mount --move /dev /root/dev && exec $bb switch_root /root "$init"
echo "NODUS-BOOT the root file system on $root can't be mounted" >/dev/console
$bb poweroff -f
