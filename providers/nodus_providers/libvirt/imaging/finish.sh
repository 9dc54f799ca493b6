#!/bin/sh
# Turns an unpacked Debian into what boots: our files in, kernel and initrd out, and the file system into its place on the disk.
# Run as root, or as the root of a user namespace, in the work folder:
#
#   finish.sh DISK OFFSET BLOCKS      the ext4 of BLOCKS × 4 KiB starts OFFSET bytes into DISK
#
# There: root.tar, files/ (copied over the root), enabled, disabled, masked, modules (a word a line), stage1.sh, kernel_image.py.
# Left: linux (as Debian packs it), kernel (unpacked), initrd, boot.efi, version, versions. Programs of the image are run inside it, so this
# computer needn't have them. Nothing is mounted.
set -eu
disk=$1 offset=$2 blocks=$3
root=$PWD/root
trap 'rm -rf "$root"' EXIT
umask 022
mkdir "$root"
tar -x -f root.tar -C "$root" --numeric-owner --xattrs --xattrs-include='security.capability' --exclude='./dev/*'
rm root.tar
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C SYSTEMD_OFFLINE=1 chroot "$root" "$@"; }

# Our files, and what a machine must make for itself.
rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/resolv.conf" "$root/etc/dpkg/dpkg.cfg.d/99mmdebstrap"
chmod -R u=rwX,go=rX files
cp -R files/. "$root"
ln -s /run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
# shellcheck disable=SC2046
inside systemctl -q enable $(cat enabled)
# shellcheck disable=SC2046
inside systemctl -q disable $(cat disabled)
while read -r unit; do ln -sf /dev/null "$root/etc/systemd/system/$unit"; done <masked

# Kernel and initrd. The initrd holds drivers for the root disk and nothing else.
set -- "$root"/boot/vmlinuz-*
[ $# = 1 ] && [ -e "$1" ] || { echo "the packages brought $# kernels, not one" >&2; exit 1; }
version=${1##*/vmlinuz-}
echo "$version" >version
cp "$1" linux
inside python3 - "/boot/vmlinuz-$version" <kernel_image.py >kernel
early=$root/root/early
mkdir -p "$early/bin" "$early/dev" "$early/mod" "$early/root"
cp "$root/usr/bin/busybox" "$early/bin/busybox" 2>/dev/null || cp "$root/bin/busybox" "$early/bin/busybox"
cp stage1.sh "$early/init"
chmod 755 "$early/init"
number=10
while read -r module; do
	inside modprobe -S "$version" --show-depends "$module" >>modules.needed 2>>modprobe.log || { cat modprobe.log >&2; exit 1; }
done <modules
sed -n 's/^insmod \([^ ]*\).*/\1/p' modules.needed | awk '!seen[$0]++' >modules.found
while read -r module; do
	name=${module##*/}
	case $name in
	*.xz) inside xz -dc "$module" >"$early/mod/$number-${name%.xz}" ;;
	*.zst) inside zstd -q -dc "$module" >"$early/mod/$number-${name%.zst}" ;;
	*) cp "$root/$module" "$early/mod/$number-$name" ;;
	esac
	number=$((number + 1))
done <modules.found
inside sh -c 'cd /root/early && find . | sort | cpio -o -H newc -R 0:0 --quiet' >initrd
rm -rf "$early" "$root"/boot/initrd.img* "$root"/boot/vmlinuz* "$root"/initrd.img* "$root"/vmlinuz*

cp "$root/usr/lib/systemd/boot/efi/systemd-bootx64.efi" boot.efi
inside dpkg-query -W -f '${Package}\t${Version}\n' >versions
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/*.log "$root"/var/log/apt
mke2fs -q -F -t ext4 -b 4096 -L nodus-root -E "offset=$offset,lazy_itable_init=1,lazy_journal_init=1,nodiscard" -d "$root" "$disk" "$blocks"
