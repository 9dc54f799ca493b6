#!/bin/sh
# A libvirt host for the tests on a machine without systemd, such as a CI container.
#
#   scripts/libvirt_host.sh install    packages from Debian, and libvirt's Python binding into .venv
#   scripts/libvirt_host.sh start      virtlogd and libvirtd, where none answers yet
#   scripts/libvirt_host.sh stop       end what start has started
#
# As root only. Where systemd runs or a daemon answers already, that is used as it is and nothing is changed. A line says why where a host
# can't be had; the tests are skipped then and say the same.
set -eu

run=${NODUSCTL_LIBVIRT_RUN:-/run/nodusctl-libvirt}
here=$(dirname "$(realpath "$0")")
python=$here/../.venv/bin/python
packages="libvirt-daemon libvirt-daemon-driver-qemu libvirt-daemon-system libvirt-daemon-config-network libvirt-clients
	qemu-system-x86 qemu-utils ovmf seabios libvirt-dev pkg-config gcc libc6-dev python3-dev
	busybox-static cpio kmod e2fsprogs dnsmasq-base iptables openssh-client curl
	mmdebstrap fdisk mtools debian-archive-keyring util-linux"

answers() { timeout 10 virsh -q -c qemu:///system uri >/dev/null 2>&1; }

install() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || {
		echo "libvirt: not root, or no apt-get here. Going on without; its tests are skipped." >&2
		exit 0
	}
	missing=""
	for package in $packages; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || missing="$missing $package"
	done
	if [ -n "$missing" ]; then
		echo "Installing$missing"
		log=$(mktemp)
		# A policy-rc.d that says no keeps Debian from starting daemons by itself.
		policy=/usr/sbin/policy-rc.d
		if [ ! -e $policy ]; then
			printf '#!/bin/sh\nexit 101\n' >$policy
			chmod 755 $policy
			trap 'rm -f /usr/sbin/policy-rc.d' EXIT
		fi
		# shellcheck disable=SC2086
		if ! { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing; } >"$log" 2>&1; then
			tail -5 "$log" >&2
			echo "libvirt could not be installed. Going on without; its tests are skipped." >&2
		fi
		rm -f "$log"
	fi
	if [ -x "$python" ] && ! "$python" -c 'import libvirt' 2>/dev/null; then
		"$python" -m pip install --quiet --disable-pip-version-check -e "$here/..[libvirt]" ||
			echo "libvirt's Python binding could not be built. Going on without; its tests are skipped." >&2
	fi
}

start() {
	answers && return
	if [ "$(id -u)" != 0 ] || ! command -v libvirtd >/dev/null 2>&1; then
		echo "libvirt: no daemon answers, and none can be started here. Its tests are skipped." >&2
		exit 0
	fi
	if [ -d /run/systemd/system ]; then
		echo "libvirt: no daemon answers. Start it: systemctl start libvirtd" >&2
		exit 0
	fi
	mkdir -p "$run" /run/libvirt
	# Several runs may want it at once; the lock goes with this shell and isn't handed to the daemons.
	exec 9>"$run/lock"
	flock 9
	if answers; then return; fi
	# QEMU runs as root here and touches no owner of any file: with the stock settings a machine whose /dev/kvm only root can open has its
	# capabilities probed again for each call, 4 s each.
	if ! grep -q '^# nodusctl' /etc/libvirt/qemu.conf 2>/dev/null; then
		[ ! -e /etc/libvirt/qemu.conf ] || cp -p /etc/libvirt/qemu.conf "$run/qemu.conf.before"
		cat >/etc/libvirt/qemu.conf <<-'EOF'
			# nodusctl's tests wrote this; scripts/libvirt_host.sh stop puts back what was there
			user = "root"
			group = "root"
			dynamic_ownership = 0
			remember_owner = 0
			security_driver = "none"
			namespaces = []
			cgroup_controllers = []
		EOF
	fi
	/usr/sbin/virtlogd --daemon --pid-file "$run/virtlogd.pid" 9>&-
	/usr/sbin/libvirtd --daemon --pid-file "$run/libvirtd.pid" 9>&-
	tries=0
	until answers; do
		tries=$((tries + 1))
		[ $tries -lt 50 ] || {
			echo "libvirt: the daemon does not answer" >&2
			exit 0
		}
		sleep 0.2
	done
}

stop() {
	for name in libvirtd virtlogd; do
		[ ! -s "$run/$name.pid" ] || kill "$(cat "$run/$name.pid")" 2>/dev/null || true
		rm -f "$run/$name.pid"
	done
	[ ! -e "$run/qemu.conf.before" ] || mv "$run/qemu.conf.before" /etc/libvirt/qemu.conf
}

case ${1:-} in
install) install ;;
start) start ;;
stop) stop ;;
*)
	echo "usage: $0 install|start|stop" >&2
	exit 2
	;;
esac
