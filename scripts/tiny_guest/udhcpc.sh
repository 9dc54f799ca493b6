#!/bin/busybox sh
# What the DHCP client does with a lease.
[ "$1" = bound ] || [ "$1" = renew ] || exit 0
ip addr replace "$ip/${mask:-24}" dev "$interface"
[ -z "$router" ] || ip route replace default via "${router%% *}"
: >/run/resolv.conf
for server in $dns; do echo "nameserver $server" >>/run/resolv.conf; done
