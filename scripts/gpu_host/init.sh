#!/bin/sh
# The emulated GPU host's first process, in place of systemd: mounts, udev (libvirt lists devices through it), network, sshd, libvirt.
# Who may log in and the host key come from whoever started it, as files of QEMU's firmware configuration.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
say() { echo "GPU-HOST $* ($(cut -d' ' -f1 /proc/uptime) s)" >/dev/console; }
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o mode=0755 run /run
mount -t tmpfs -o mode=1777 tmp /tmp
mkdir -p /dev/pts /dev/shm /run/sshd /run/libvirt /run/lock /run/udev /var/log/libvirt/qemu
mount -t devpts -o gid=5,mode=620,ptmxmode=666 pts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t cgroup2 cgroup /sys/fs/cgroup
ln -sf /proc/self/fd /dev/fd
for name in stdin:0 stdout:1 stderr:2; do ln -sf "/proc/self/fd/${name#*:}" "/dev/${name%:*}"; done
hostname gpu-host
ip link set lo up
modprobe -a qemu_fw_cfg virtio_net tun

given=/sys/firmware/qemu_fw_cfg/by_name/opt/nodus
umask 077
mkdir -p /root/.ssh
cat $given/authorized-key/raw >/root/.ssh/authorized_keys
cat $given/host-key/raw >/etc/ssh/ssh_host_ed25519_key
umask 022
for card in /sys/class/net/*; do
	driver=$(readlink "$card/device/driver") || continue
	[ "${driver##*/}" = virtio_net ] || continue
	ip link set "${card##*/}" up
	ip address add 10.0.2.15/24 dev "${card##*/}"
	ip route add default via 10.0.2.2
done
/usr/sbin/sshd

/lib/systemd/systemd-udevd --daemon
udevadm trigger --type=subsystems --action=add
udevadm trigger --type=devices --action=add
mkdir -p /srv/guest
udevadm settle -t 60
mount -o ro LABEL=guest /srv/guest || say "the guest's files are missing"
modprobe -a vfio-pci vfio_iommu_type1
/usr/sbin/virtlogd --daemon
/usr/sbin/libvirtd --daemon
tries=0
until virsh -q -c qemu:///system uri >/dev/null 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || { say "libvirtd doesn't answer" && break; }
	sleep 0.3
done
virsh -q net-create /etc/nodus-network.xml || say "there is no network for machines"
# The first look at QEMU takes long, and a host has usually been used before.
virsh -q domcapabilities --virttype qemu >/dev/null || say "QEMU can't be looked at"
say READY
while :; do wait; sleep 5; done
