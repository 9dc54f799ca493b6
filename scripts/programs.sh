#!/bin/sh
# Makes sure that the programs local machines need are there: sshd, ssh, ssh-keygen and bubblewrap. With "cron" as $2 a cron daemon too, and with "tests"
# that and what the tests alone need, jq, curl, rsync, zsh, fish, a browser with its driver and PostgreSQL's server, but only where they can be installed: nothing
# of ours needs them elsewhere, and their tests are skipped. A daemon that is installed here isn't started.
#
# As root (or with sudo that asks nothing) they are installed from Debian. Otherwise the packages are unpacked under the folder given
# as $1, which needs no rights; and where even that fails, one line says what to run, and the caller goes on with what there is.
set -eu

folder=$1
wanted="sshd:openssh-server ssh:openssh-client ssh-keygen:openssh-client bwrap:bubblewrap"
for_cron="cron:cron crontab:cron"
for_tests="jq:jq curl:curl rsync:rsync zsh:zsh fish:fish chromium:chromium chromedriver:chromium-driver initdb:postgresql"

# Debian keeps PostgreSQL's server off PATH, a folder for each version.
for programs in /usr/lib/postgresql/*/bin; do
	PATH=$PATH:$programs
done

missing_packages() {
	for pair in $wanted; do
		command -v "${pair%%:*}" >/dev/null 2>&1 || printf '%s\n' "${pair##*:}"
	done | sort -u | tr '\n' ' '
}

as_root=none
if [ "$(id -u)" = 0 ]; then
	as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
	as_root="sudo -n"
fi
if [ "$as_root" != none ]; then
	case "${2:-}" in
	tests) wanted="$wanted $for_cron $for_tests" ;;
	cron) wanted="$wanted $for_cron" ;;
	esac
fi

packages=$(missing_packages)
[ -n "$packages" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "Missing: $packages (no apt-get here; install them with this system's package manager). Going on without." >&2
	exit 0
fi

if [ "$as_root" != none ]; then
	echo "Installing $packages"
	# A policy-rc.d that says no keeps Debian from starting a system-wide sshd that nobody asked for.
	policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
		$as_root chmod 755 $policy
		trap '$as_root rm -f '$policy EXIT
	fi
	log=$(mktemp)
	# shellcheck disable=SC2086
	if ! { $as_root apt-get update -q && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $packages; } >"$log" 2>&1; then
		tail -5 "$log" >&2
		echo "They could not be installed. Run as root: apt-get install $packages" >&2
	fi
	rm -f "$log"
	exit 0
fi

echo "Unpacking $packages under $folder"
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if (cd "$work" && apt-get download -q $packages >/dev/null 2>&1); then
	for package in "$work"/*.deb; do
		dpkg -x "$package" "$folder"
	done
fi
packages=$(missing_packages)
[ -z "$packages" ] || echo "Still missing: $packages. Run as root: apt-get install $packages. Going on without." >&2
