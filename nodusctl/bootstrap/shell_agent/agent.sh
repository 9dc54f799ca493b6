#!/bin/sh
# The agent in plain POSIX shell and awk, for guests without Python. It keeps the same contract as the Python one: it arms the edge before
# anything else, opens the door, judges idle, and answers five commands behind the service key. It runs as root in a machine of its own.
#
#   begin              at each boot, from the first-boot document: arm the edge, start the keeper, make user and home, open the door
#   keep               watch edge and idleness until the end
#   gate               hand whoever knocks with the service key to a process that answers
#   end WORD [DETAIL]  end the machine; why is said on the console, where the host reads it
#
# Whoever logs in is the user nodus; only root can answer for the machine. So the service key's forced command knocks at a named pipe that
# root listens on, and what is said goes through two more pipes in a folder only root can change.
set -u
umask 077
LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rocm/bin
export LC_ALL PATH

VERSION=sh-1
R=/run/nodus
S=$R/state
G=$R/gate
SECRETS=/run/secrets
WARNING=600
# shellcheck source=/dev/null
. $R/boot.env

# ---- small things

put() { # put FILE TEXT: replace a file whole
	printf '%s\n' "$2" >"$1.new.$$" && mv "$1.new.$$" "$1"
}

clock() { # now: whole seconds of the boot clock, which counts sleep and can't be set
	read -r now _ </proc/uptime
	now=${now%%.*}
}

stamp() { # stamp CLOCK: that moment of the boot clock as UTC text
	date -u -d "@$(($(date +%s) - now + $1))" +%Y-%m-%dT%H:%M:%SZ
}

word() { # word FILE DEFAULT: the first word of a file
	if [ -s "$1" ]; then
		read -r found _ <"$1"
		echo "$found"
	else
		echo "$2"
	fi
}

rest() { # rest FILE: what follows the first word
	[ ! -s "$1" ] || { read -r _ found <"$1" && echo "$found"; }
}

quoted() { # stdin as a JSON string, byte for byte
	{
		cat
		printf X
	} | awk '
		{ text = NR == 1 ? $0 : text "\n" $0 }
		END {
			text = substr(text, 1, length(text) - 1)
			while (match(text, /[\\"\001-\037]/)) {
				c = substr(text, RSTART, 1)
				out = out substr(text, 1, RSTART - 1) escape(c)
				text = substr(text, RSTART + 1)
			}
			printf "\"%s%s\"", out, text
		}
		function escape(c) {
			if (c == "\\" || c == "\"") return "\\" c
			if (c == "\n") return "\\n"
			if (c == "\t") return "\\t"
			if (c == "\r") return "\\r"
			if (c == "\b") return "\\b"
			if (c == "\f") return "\\f"
			for (code = 1; code < 32; code++) if (sprintf("%c", code) == c) return sprintf("\\u%04x", code)
		}'
}

say() { # said: TEXT as a JSON string. Most texts need no other process, and each one takes its time under emulation
	case $1 in *[!A-Za-z0-9._/:@=+,-]*) said=$(printf '%s' "$1" | quoted) ;; *) said="\"$1\"" ;; esac
}

# ---- reading a request: one JSON object of numbers, strings and, under "files", an object of strings

PARSER='
function fail(why) { print why >(dir "/error"); bad = 1; exit 1 }
function blank() { while (index(" \t\r\n", substr(s, p, 1)) && p <= length(s)) p++ }
function take(c) { blank(); if (substr(s, p, 1) != c) fail("expected " c); p++ }
function hex(text,  i, v) { v = 0; for (i = 1; i <= 4; i++) v = v * 16 + index("0123456789abcdef", tolower(substr(text, i, 1))) - 1; return v }
function utf(c) {
	if (c < 128) return sprintf("%c", c)
	if (c < 2048) return sprintf("%c%c", 192 + int(c / 64), 128 + c % 64)
	if (c < 65536) return sprintf("%c%c%c", 224 + int(c / 4096), 128 + int(c / 64) % 64, 128 + c % 64)
	return sprintf("%c%c%c%c", 240 + int(c / 262144), 128 + int(c / 4096) % 64, 128 + int(c / 64) % 64, 128 + c % 64)
}
function string(  out, tail, c, code) {
	take("\"")
	out = ""
	for (;;) {
		tail = substr(s, p)
		if (!match(tail, /["\\]/)) fail("a string without an end")
		out = out substr(tail, 1, RSTART - 1)
		p += RSTART
		if (substr(tail, RSTART, 1) == "\"") return out
		c = substr(s, p++, 1)
		if (c == "n") out = out "\n"
		else if (c == "t") out = out "\t"
		else if (c == "r") out = out "\r"
		else if (c == "b") out = out "\b"
		else if (c == "f") out = out "\f"
		else if (c == "u") {
			code = hex(substr(s, p, 4)); p += 4
			if (code >= 55296 && code < 56320) { code = 65536 + (code - 55296) * 1024 + hex(substr(s, p + 2, 4)) - 56320; p += 6 }
			if (code == 0) fail("a NUL")
			out = out utf(code)
		}
		else out = out c
	}
}
function plain(  tail, out) {
	tail = substr(s, p)
	if (!match(tail, /^[-+0-9.eEa-z]+/)) fail("not a value")
	out = substr(tail, 1, RLENGTH)
	p += RLENGTH
	return out
}
function members(inside,  name, value) {
	take("{"); blank()
	if (substr(s, p, 1) == "}") { p++; return }
	for (;;) {
		name = string(); take(":"); blank()
		if (!inside && name == "files") members(1)
		else {
			value = substr(s, p, 1) == "\"" ? string() : plain()
			if (kind == "environment") variable(name, value)
			else if (inside) { if (name ~ /\n/) fail("a name of one line"); printf "%s", name >(dir "/n" ++count); printf "%s", value >(dir "/c" count); close(dir "/n" count); close(dir "/c" count) }
			else { if (name !~ /^[a-z_]+$/ || value ~ /[^-0-9a-z_.]/) fail("a field nobody knows"); print name "=" value >(dir "/fields") }
		}
		blank()
		if (substr(s, p, 1) == ",") { p++; continue }
		take("}")
		return
	}
}
function variable(name, value,  out) {
	if (name !~ /^[A-Za-z_][A-Za-z0-9_]*$/) fail("a name of a variable is letters, digits and underscores")
	while (match(value, /\047/)) { out = out substr(value, 1, RSTART - 1) "\047\\\047\047"; value = substr(value, RSTART + 1) }
	printf "export %s=\047%s%s\047\n", name, out, value >(dir "/script")
}
{ s = NR == 1 ? $0 : s "\n" $0 }
END { if (bad) exit 1; p = 1; members(kind == "environment" ? 1 : 0) }
'

parsed() { # parsed FOLDER KIND: stdin into files of FOLDER
	awk -v dir="$1" -v kind="$2" "$PARSER"
}

# ---- the edge

arm() { # arm SECONDS
	clock
	put $S/edge "$((now + $1)) $(stamp $((now + $1)))"
}

edge_left() { # left: seconds until the edge, 0 where none is armed in this boot
	clock
	read -r left _ 2>/dev/null <$S/edge || left=0
	left=$((left - now))
}

# ---- idleness

idle_timeout() { # timeout: seconds, 0 for never
	read -r timeout _ 2>/dev/null <$S/idle || timeout=$idle_timeout_seconds
}

last_used() { # last: when the machine was last used, on the boot clock
	read -r last _ 2>/dev/null <$S/ready || last=0
	[ ! -s $S/facts ] || { read -r used _ <$S/facts && [ "$used" -gt "$last" ] && last=$used; }
	[ "$last" -gt 0 ] || last=$now
}

idle_left() { # left: seconds until the idle stop, or "" where none is ahead; a quiesced machine is being saved
	idle_timeout
	left=""
	[ "$timeout" -gt 0 ] && [ ! -e $S/quiesced ] || return 0
	last_used
	left=$((last + timeout - now))
}

fact() { # fact CLOCK KIND DETAIL: write down a piece of evidence, newest first, three at most
	{
		echo "$1 $2 $3"
		[ ! -s $S/facts ] || awk -v kind="$2" -v detail="$3" '{ line = $0; sub(/^[^ ]+ /, ""); if ($0 != kind " " detail) print line }' $S/facts
	} | sort -s -r -n -k1,1 | head -n 3 >$S/facts.new.$$ && mv $S/facts.new.$$ $S/facts
	rm -f $S/warned
}

session_pids() { # processes of people's logins, also those they left behind
	grep -l 'NODUS_SESSION=1' /proc/[0-9]*/environ 2>/dev/null | sed 's,/proc/\([0-9]*\)/.*,\1,'
}

terminals() { # "N MOMENT" for each terminal: when it was last read or written, by the computer's clock
	for terminal in /dev/pts/[0-9]*; do
		[ -c "$terminal" ] && stat -c '%X %Y' "$terminal" | while read -r read wrote; do
			[ "$read" -gt "$wrote" ] && wrote=$read
			echo "${terminal##*/} $wrote"
		done
	done
}

look() { # one look at the machine: what has been used since the look before
	clock
	before=$looked
	looked=$now
	pids=$(session_pids)
	for pid in $pids; do cat "/proc/$pid/stat" 2>/dev/null; done | awk '
		{ name = $0; sub(/^[^(]*\(/, "", name); sub(/\)[^)]*$/, "", name); line = $0; sub(/^.*\) /, "", line); split(line, f, " ")
		  print $1 "/" f[20], f[12] + f[13], f[14] + f[15], name }' >$S/works.new
	used=$(awk 'NR == FNR { was[$1] = $2; sum -= $2 + $3; next }
		{ sum += $2 + $3; more = $2 - was[$1]; if (more >= most) { most = more; name = $4 } }
		END { print int(sum), name }' $S/works $S/works.new 2>/dev/null)
	mv $S/works.new $S/works
	# A tenth of one processor, in hundredths of a second.
	[ $((${used%% *} + 0)) -le $(((now - before) * 10)) ] || fact "$now" cpu "${used#* }"
	terminals >$S/terminals.new
	while read -r number moment; do
		grep -qx "$number $moment" $S/terminals 2>/dev/null && continue
		ago=$(($(date +%s) - moment))
		[ "$ago" -ge 0 ] || ago=0
		[ $((now - ago)) -lt "$before" ] && ago=$((now - before))
		fact $((now - ago)) ssh "terminal pts/$number"
	done <$S/terminals.new
	mv $S/terminals.new $S/terminals
	if [ -f $G/logins ] && [ ! -L $G/logins ] && ! cmp -s $G/logins $S/logins; then
		cp $G/logins $S/logins
		fact "$now" ssh "$(tail -n 1 $S/logins | cut -c1-200 | tr -c '[:print:]\n' '?')"
	fi
	ask_cards
	[ "${busy:-0}" -le 5 ] || fact "$now" gpu "$busy %"
}

ask_cards() { # busy: percent of the busiest card. A tool can hang for good, so a child asks; an answer that is late counts for the next look
	busy=""
	command -v nvidia-smi >/dev/null 2>&1 || command -v rocm-smi >/dev/null 2>&1 || return 0
	if [ ! -e $S/asking ]; then
		: >$S/asking
		{ put $S/cards "$(gpu_use)" && rm -f $S/asking; } >/dev/null 2>&1 </dev/null &
	fi
	tries=0
	while [ ! -e $S/cards ] && [ $tries -lt 50 ]; do
		sleep 0.2
		tries=$((tries + 1))
	done
	[ ! -e $S/cards ] || { read -r busy <$S/cards && rm -f $S/cards; }
}

gpu_use() { # percent of the busiest card; "" where no tool says one, as for a card in shares
	{
		nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits
		rocm-smi --showuse --csv | sed -n 's/^card[0-9]*,\([0-9]*\).*/\1/p'
	} 2>/dev/null | sed -n 's/^ *\([0-9][0-9]*\) *$/\1/p' | sort -rn | head -n 1
}

evidence() {
	facts=""
	if [ -s $S/facts ]; then
		facts=$(while read -r when kind detail; do printf '%s: %s, %s; ' "$kind" "$detail" "$(stamp "$when")"; done <$S/facts)
	fi
	echo "idle since $(stamp "$last") (timeout $timeout s); last activity: ${facts:-none}"
}

warn() { # warn DEADLINE WHAT: tell each terminal once of a deadline that is near
	for terminal in /dev/pts/[0-9]*; do
		[ -c "$terminal" ] || continue
		grep -qx "${terminal##*/} $1" $S/told 2>/dev/null && continue
		printf '\r\n*** nodus: %s, at %s. ***\r\n' "$2" "$(stamp "$1")" >"$terminal"
		echo "${terminal##*/} $1" >>$S/told
		echo "pts/${terminal##*/}" >>$S/warned
		terminals >$S/terminals
	done
}

# ---- the keeper

keep() {
	clock
	looked=$now
	missed=0
	rm -f $S/asking
	: >$S/works
	terminals >$S/terminals
	while :; do
		edge_left
		if [ "$left" -le 0 ]; then
			end edge "its deadline has come: $(rest $S/edge)"
		fi
		[ "$left" -gt $WARNING ] || warn $((now + left)) "this machine stops at its edge"
		idle_timeout
		every=60
		if [ "$timeout" -gt 0 ]; then
			every=$((timeout / 5))
			[ "$every" -ge 1 ] || every=1
			[ "$every" -le 60 ] || every=60
		fi
		idle_left
		over=no
		[ -z "$left" ] || [ "$left" -gt 0 ] || over=yes
		if [ $over = yes ] || [ $((now - looked)) -ge $every ]; then
			look
			grow_home
			idle_left
			[ -z "$left" ] || [ "$left" -gt 0 ] || end idle "$(evidence)"
		fi
		lead=$WARNING
		[ $((timeout / 2)) -ge $lead ] || lead=$((timeout / 2))
		[ -z "$left" ] || [ "$left" -gt "$lead" ] || warn $((now + left)) "this machine stops because nobody uses it"
		[ -e $S/closing ] || [ ! -e $R/etc/sshd_config ] || door_is_open || open_door
		sleep 1
	done
}

end() { # end WORD [DETAIL]
	(set -C && : >$S/closing) 2>/dev/null || { [ "$1" = released ] && sleep 600; }
	say "${2:-}"
	clock
	printf '\nNODUS-END {"reason": "%s", "detail": %s, "decided_at": "%s"}\n' "$1" "$said" "$(stamp "$now")" >/dev/console
	for pid in $(session_pids); do kill "$pid" 2>/dev/null; done
	[ -z "$(session_pids)" ] || sleep 2
	for pid in $(session_pids); do kill -9 "$pid" 2>/dev/null; done
	rm -rf $R/etc/host_key $R/etc/authorized_keys $R/vault "$SECRETS"/* 2>/dev/null
	sync
	umount "$home_mount" 2>/dev/null
	sync
	clock
	printf '\nNODUS-ENDED {"ended_at": "%s"}\n' "$(stamp "$now")" >/dev/console
	if [ -d /run/systemd/system ]; then
		systemctl poweroff
	else
		poweroff -f
	fi
	exit 0
}

# ---- user, home, door

home_device() { # the disk whose serial says that it is the home
	for disk in /sys/block/*/serial; do
		[ "$(cat "$disk" 2>/dev/null)" = nodus-home ] || continue
		disk=${disk%/serial}
		echo "/dev/${disk##*/}"
		return
	done
}

is_ext4() { # is_ext4 DEVICE OFFSET: whether the mark of a superblock is there
	[ "$(dd if="$1" bs=2 skip=$(($2 / 2)) count=1 2>/dev/null | od -An -tx1 | tr -d ' \n')" = 53ef ]
}

mount_home() {
	mkdir -p "$home_mount"
	chmod 755 "$home_mount"
	device=$(home_device)
	[ -n "$device" ] || return 0
	if ! is_ext4 "$device" 1080; then
		# A new disk, or one whose making was cut off, has no sign of anything. A backup of the superblock means a damaged home.
		if is_ext4 "$device" 134217784 || [ -n "$(blkid "$device" 2>/dev/null)" ]; then
			end failed "the home holds something that is no healthy ext4 file system"
		fi
		mkfs.ext4 -q -F -L nodus-home -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "$device" || end failed "the home can't be formatted"
	fi
	mount -t ext4 -o noatime "$device" "$home_mount" || end failed "the home can't be mounted"
	grow_home
}

grow_home() { # the disk may have grown while nobody looked
	device=$(home_device)
	[ -n "$device" ] || return 0
	size=$(cat "/sys/block/${device##*/}/size")
	[ "$(word $S/home-size 0)" != "$size" ] || return 0
	resize2fs "$device" >/dev/null 2>&1
	put $S/home-size "$size"
}

make_user() { # nodus has the number the home was made with, else 1000 or the next free one
	number=$(stat -c %u "$home_mount")
	if ! grep -q '^nodus:' /etc/passwd; then
		[ "$number" != 0 ] || number=1000
		while cut -d: -f3 /etc/passwd | grep -qx "$number"; do number=$((number + 1)); done
		shell=/bin/sh
		[ ! -x /bin/bash ] || shell=/bin/bash
		echo "nodus:x:$number:" >>/etc/group
		echo "nodus:*:19000:0:99999:7:::" >>/etc/shadow
		echo "nodus:x:$number:$number:nodus:$home_mount:$shell" >>/etc/passwd
	fi
	[ "$(stat -c %u "$home_mount")" != 0 ] || chown nodus: "$home_mount"
	mkdir -p -m 700 "$SECRETS" $R/vault
	chown nodus: "$SECRETS"
}

write_door() {
	sftp=/usr/lib/openssh/sftp-server
	[ -x $sftp ] || sftp=/usr/libexec/openssh/sftp-server
	cat >$R/etc/sshd_config <<-EOF
		Port 22
		HostKey $R/etc/host_key
		AuthorizedKeysFile $R/etc/authorized_keys
		AllowUsers nodus
		AuthenticationMethods publickey
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		PermitRootLogin no
		UsePAM no
		StrictModes no
		ExposeAuthInfo yes
		KexAlgorithms ^curve25519-sha256,curve25519-sha256@libssh.org
		Subsystem sftp $sftp
		PidFile $R/sshd.pid
		PrintMotd no
		PrintLastLog no
		UseDNS no
		X11Forwarding no
		ClientAliveInterval 30
	EOF
	cat >$R/knock <<-EOF
		#!/bin/sh
		echo \$\$ >$G/bell || exit 1
		tries=0
		while [ ! -p $G/\$\$/a ]; do
			tries=\$((tries + 1))
			[ \$tries -lt 1000 ] || exit 1
			sleep 0.02
		done
		exec 3<&0
		cat <&3 >$G/\$\$/q &
		exec cat <$G/\$\$/a
	EOF
	cat >$R/session <<-EOF
		#!/bin/sh
		export NODUS_SESSION=1 NODUS_SECRETS=$SECRETS
		[ ! -r $R/environment ] || . $R/environment
		echo "\${SSH_ORIGINAL_COMMAND:-login shell}" | tr '\n' ' ' >$G/logins
		cd "\$HOME" || exit 1
		if [ -n "\${SSH_ORIGINAL_COMMAND:-}" ]; then exec "\$SHELL" -c "\$SSH_ORIGINAL_COMMAND"; fi
		exec "\$SHELL" -l
	EOF
	chmod 755 $R $R/knock $R/session
	mkdir -p $G $R/work
	chmod 711 $G
	mkfifo -m 600 $G/bell
	: >$G/logins
	chown nodus: $G/bell $G/logins
	admit
}

admit() { # who may log in now: the service key always, people unless the machine is quiesced
	{
		echo "restrict,command=\"exec /bin/sh $R/knock\" $service_key"
		[ -e $S/quiesced ] || keys_of $R/etc/person_keys | sed "s|^|command=\"exec /bin/sh $R/session\" |"
	} >$R/etc/authorized_keys.new
	chmod 644 $R/etc/authorized_keys.new
	mv $R/etc/authorized_keys.new $R/etc/authorized_keys
	chmod 711 $R/etc
}

keys_of() { # the keys of a file: type and body, nothing else
	[ ! -s "$1" ] || awk '!/^[ \t]*(#|$)/ { print $1, $2 }' "$1"
}

are_keys() { # whether a file holds key lines without options
	awk '!/^[ \t]*(#|$)/ && ($1 !~ /^(sk-)?(ssh|ecdsa)-[a-z0-9@.-]+$/ || $2 !~ /^[A-Za-z0-9+\/]+=*$/) { bad = 1 } END { exit bad }' "$1"
}

door_is_open() { # whether sshd runs; one that reads its key again writes its number when it listens, and has two looks' time for it
	if kill -0 "$(word $R/sshd.pid none)" 2>/dev/null; then
		missed=0
	else
		missed=$((missed + 1))
	fi
	[ $missed -lt 3 ]
}

open_door() {
	mkdir -p /run/sshd
	"$(command -v sshd || echo /usr/sbin/sshd)" -f $R/etc/sshd_config -E $R/sshd.log
}

begin() {
	mkdir -p $S
	rm -f $S/closing
	arm "$edge_seconds"
	setsid sh $R/agent.sh keep </dev/null >>$R/log 2>&1 &
	printf '#!/bin/sh\nexec sh %s/agent.sh end "$@"\n' $R >$R/end
	chmod 700 $R/end
	if [ -d /run/systemd/system ]; then
		systemctl mask --runtime --now ssh.service ssh.socket sshd.service >/dev/null 2>&1
	fi
	mount_home
	make_user
	write_door
	setsid sh $R/agent.sh gate </dev/null >>$R/log 2>&1 &
	open_door
	clock
	echo "NODUS-OPEN $(cut -d' ' -f1 /proc/uptime)"
}

# ---- answering

gate() {
	exec 4<>$G/bell
	served=0
	prepare
	while read -r id <&4; do
		case $id in '' | *[!0-9]*) continue ;; esac
		[ -e $R/work/next ] || prepare || continue
		[ ! -e "$G/$id" ] || rm -rf "${G:?}/$id"
		mv $R/work/next "$G/$id" || continue
		{
			serve <"$G/$id/q" >"$G/$id/a"
			rm -rf "${G:?}/$id" "$work"
		} &
		prepare
	done
}

prepare() { # the pipes and the folder of whoever knocks next, who then waits for one mv; until then they lie where only root comes
	served=$((served + 1))
	work=$R/work/$served
	rm -rf $R/work/next "$work"
	mkdir $R/work/next "$work" && mkfifo -m 600 $R/work/next/q $R/work/next/a && chown nodus: $R/work/next/q $R/work/next/a &&
		chmod 711 $R/work/next && return 0
	rm -rf $R/work/next
	return 1
}

serve() {
	while read -r line || [ -n "$line" ]; do
		: >"$work/fields"
		answer
		[ ! -e "$work/n1" ] && [ ! -e "$work/error" ] || rm -rf "$work"/*
	done
}

refuse() {
	say "$2"
	printf '{"error": {"code": "%s", "message": %s}}\n' "$1" "$said"
}

answer() {
	command="" asked_edge="" asked_idle="" grace_seconds="" is_quiet=false
	if ! parsed "$work" request <<-EOF || [ -e "$work/error" ]; then
		$line
	EOF
		refuse Invalid "the request can't be read: $(cat "$work/error" 2>/dev/null)"
		return
	fi
	while IFS='=' read -r name value; do
		case $name in
		command) command=$value ;;
		edge_seconds) asked_edge=$value ;;
		idle_timeout_seconds) asked_idle=$value ;;
		grace_seconds) grace_seconds=${value%%.*} ;;
		esac
	done <"$work/fields"
	case $command in
	ready | facts) ;;
	renew) renew || return ;;
	secrets) push || return ;;
	quiesce) quiesce ;;
	*)
		refuse Unsupported "the commands are ready, facts, renew, secrets and quiesce"
		return
		;;
	esac
	standing
}

is_whole() { case $1 in '' | *[!0-9]*) return 1 ;; esac; }

renew() {
	if [ -z "$asked_edge$asked_idle" ]; then
		refuse Invalid "a renewal carries edge_seconds or idle_timeout_seconds"
		return 1
	fi
	if [ -n "$asked_edge" ] && { ! is_whole "$asked_edge" || [ "$asked_edge" -le 0 ]; }; then
		refuse Invalid "edge_seconds is a positive whole number"
		return 1
	fi
	if [ -n "$asked_idle" ] && ! is_whole "$asked_idle"; then
		refuse Invalid "idle_timeout_seconds is a whole number of seconds, 0 for never"
		return 1
	fi
	[ -z "$asked_idle" ] || put $S/idle "$asked_idle"
	[ -z "$asked_edge" ] || arm "$asked_edge"
}

place() { # place NAME: sets target and mode, or fails for a name that lies outside
	case $1 in
	host_key) target=$R/etc/host_key mode=600 ;;
	authorized_keys) target=$R/etc/person_keys mode=600 ;;
	environment) target=$R/vault/environment.json mode=400 ;;
	tools.json) target=$R/vault/tools.json mode=400 ;;
	*)
		bare=${1#/}
		case /$bare/ in */../* | */./* | *//*) return 1 ;; esac
		case $bare in *[!A-Za-z0-9._/-]*) return 1 ;; esac
		case $bare in run/secrets/?*) target=$SECRETS/${bare#run/secrets/} mode=400 ;; *) return 1 ;; esac
		;;
	esac
}

push() {
	if [ -e $S/quiesced ]; then
		refuse Conflict "the machine is quiesced"
		return 1
	fi
	for name in "$work"/n[0-9]*; do
		[ -e "$name" ] || break
		named "$name"
		place "$file" || {
			refuse Invalid "a pushed file is host_key, authorized_keys, environment, tools.json or lies under run/secrets/"
			return 1
		}
		content=$work/c${name##*/n}
		case $file in
		authorized_keys) are_keys "$content" || {
			refuse Invalid "a public key is one line: type, base64 and an optional comment"
			return 1
		} ;;
		environment) parsed "$work" environment <"$content" || {
			refuse Invalid "$(cat "$work/error" 2>/dev/null)"
			return 1
		} ;;
		esac
	done
	[ -s $S/pushed ] || rm -f $S/ready
	has_new_key=false
	for name in "$work"/n[0-9]*; do
		[ -e "$name" ] || break
		named "$name"
		place "$file"
		content=$work/c${name##*/n}
		case $file in
		host_key) cmp -s "$content" "$target" || has_new_key=true ;;
		authorized_keys) keys_of "$target" >"$work/old-keys" ;;
		esac
		[ -d "${target%/*}" ] || mkdir -p "${target%/*}"
		cat "$content" >"$target.new.$$"
		chmod $mode "$target.new.$$"
		mv "$target.new.$$" "$target"
		case $file in
		authorized_keys)
			admit
			end_sessions_without_key
			;;
		environment)
			: >>"$work/script"
			chmod 400 "$work/script"
			chown nodus: "$work/script"
			mv "$work/script" $R/environment
			;;
		run/secrets/* | /run/secrets/*) chown -R nodus: "$SECRETS" ;;
		esac
		echo "$file" >>"$work/all"
	done
	[ ! -s $S/pushed ] || cat $S/pushed >>"$work/all"
	[ ! -s "$work/all" ] || { sort -u "$work/all" >$S/pushed.new && mv $S/pushed.new $S/pushed; }
	[ $has_new_key = false ] || reload_door
}

named() { # named FILE: sets file, the name in it, which has no end of line
	IFS= read -r file <"$1" || :
}

reload_door() { # have sshd read its host key again, and wait until it listens with it, which is when it writes its number; connections stay
	pid=$(word $R/sshd.pid none)
	rm -f $R/sshd.pid
	kill -HUP "$pid" 2>/dev/null || open_door
	tries=0
	while [ ! -s $R/sshd.pid ] && [ $tries -lt 150 ]; do
		sleep 0.02
		tries=$((tries + 1))
	done
}

end_sessions_without_key() { # a removed key ends what it opened
	keys_of $R/etc/person_keys >"$work/new-keys"
	grep -vxF -f "$work/new-keys" "$work/old-keys" >"$work/removed" 2>/dev/null
	[ -s "$work/removed" ] || return 0
	for pid in $(session_pids); do
		login=$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^SSH_USER_AUTH=//p')
		sed -n 's/^publickey //p' "$login" 2>/dev/null | cut -d' ' -f1,2 | grep -qxF -f "$work/removed" || continue
		parent=$(sed -n 's/^PPid:\t//p' "/proc/$pid/status" 2>/dev/null)
		[ "$(cat "/proc/$parent/comm" 2>/dev/null)" != sshd ] || kill -9 "$parent" 2>/dev/null
		kill -9 "$pid" 2>/dev/null
	done
}

quiesce() { # close the door to people, end what they run, write everything to disk
	put $S/quiesced "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
	admit
	: "${grace_seconds:=30}"
	for pid in $(session_pids); do kill "$pid" 2>/dev/null; done
	clock
	until_clock=$((now + grace_seconds))
	while [ -n "$(session_pids)" ]; do
		clock
		[ "$now" -lt "$until_clock" ] || break
		sleep 0.2
	done
	for pid in $(session_pids); do kill -9 "$pid" 2>/dev/null; done
	[ -z "$(session_pids)" ] || sleep 0.5
	[ -n "$(session_pids)" ] || is_quiet=true
	sync
}

digest() { # sum: SHA-256 over the canonical JSON of name to content, as they lie here now; of the names asked for, or of all that were pushed
	sum=""
	[ -e "$work/n1" ] || [ -s $S/pushed ] || return 0
	names=$work/names
	if [ -e "$work/n1" ]; then
		for name in "$work"/n[0-9]*; do
			named "$name"
			printf '%s\n' "$file"
		done >"$names"
		[ ! -e "$work/n2" ] || { sort -u "$names" >"$names.sorted" && mv "$names.sorted" "$names"; }
	else
		names=$S/pushed
	fi
	sum=$({
		printf '{'
		comma=""
		while read -r name; do
			say "$name"
			place "$name" && printf '%s%s:' "$comma" "$said" && if [ -e "$target" ]; then quoted <"$target"; else printf '""'; fi
			comma=,
		done <"$names"
		printf '}'
	} | sha256sum)
	sum=${sum%% *}
}

standing() {
	clock
	# The login that brought the question has proved that the door answers.
	[ -s $S/ready ] || put $S/ready "$now $(stamp "$now")"
	read -r ready_clock ready_at 2>/dev/null <$S/ready || { ready_clock=$now ready_at=$(stamp "$now"); }
	digest
	edge_left
	edge=$left
	[ "$edge" -ge 0 ] || edge=0
	idle_left
	idle=${left:-null}
	[ "$idle" = null ] || [ "$idle" -ge 0 ] || idle=0
	shown=$timeout
	[ "$shown" -gt 0 ] || shown=null
	last_used
	used_at=$ready_at
	[ "$last" = "$ready_clock" ] || used_at=$(stamp "$last")
	read -r boot_id </proc/sys/kernel/random/boot_id
	has_secrets=false
	[ ! -s $S/pushed ] || has_secrets=true
	served_tools=""
	for tool in $tools; do
		case $tool in
		SSH | VSCode) state='"has_answered": true' ;;
		*) state='"has_answered": false, "has_failed": true, "seen": "no program on this machine serves it"' ;;
		esac
		served_tools="$served_tools${served_tools:+, }{\"name\": \"$tool\", $state}"
	done
	say "$home_mount"
	home=$said
	activities=""
	[ ! -s $S/facts ] || while read -r when kind detail; do
		say "$detail"
		activities="$activities${activities:+, }{\"kind\": \"$kind\", \"detail\": $said, \"time\": \"$(stamp "$when")\"}"
	done <$S/facts
	warned=""
	[ ! -s $S/warned ] || warned=$(sort -u $S/warned | awk '{ printf "%s\"%s\"", (NR > 1 ? ", " : ""), $1 }')
	answer="{\"version\": \"$VERSION\", \"boot_id\": \"$boot_id\", \"remaining_seconds\": $edge, \"has_secrets\": $has_secrets"
	answer="$answer, \"tools\": [$served_tools], \"home\": $home, \"ready_at\": \"$ready_at\", \"is_quiet\": $is_quiet, \"pushed_digest\": \"$sum\""
	answer="$answer, \"last_activity_at\": \"$used_at\", \"idle_timeout_seconds\": $shown, \"idle_remaining_seconds\": $idle"
	printf '%s\n' "$answer, \"activities\": [$activities], \"warned_terminals\": [$warned]}"
}

task=$1
shift
$task "$@"
