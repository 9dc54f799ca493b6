# What libvirt doesn't tell about a host. POSIX sh; reads only. Arguments: files whose permissions are asked about.
# One fact a line: its kind, then its fields, separated by tabs; a line that begins with a blank goes on with the one before.
# See host_probe.py for what reads it. Plans wait for it, so files are read by the shell itself wherever it can, and with cards_only set what
# only the doctor wants is left out.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C
tab=$(printf '\t')
root=${PROBE_ROOT-} # a copy of a host's files, for looking at one that isn't this
devices=$root/sys/bus/pci/devices
say() { printf '%s' "$1"; shift; for word in "$@"; do printf '\t%s' "$word"; done; printf '\n'; }
first() { line=; test -r "$1" && read -r line 2>/dev/null < "$1"; }
count() { test -e "$1" && total=$# || total=0; }
is_display() { first "$1/class"; case $line in 0x03*) return 0 ;; esac; return 1; }
has_display() { for member in "$1"/iommu_group/devices/*; do is_display "$member" && return 0; done; return 1; }

if test -z "${cards_only-}" || test $# -gt 0; then # who may read the files that are asked about
    say user "$(id -u)" "$(id -un)"
    for user in libvirt-qemu qemu; do groups=$(id -Gn "$user" 2>/dev/null) && say qemu_user "$user" "$groups"; done
    user=$(sed -n 's/^[[:blank:]]*user[[:blank:]]*=[[:blank:]]*"+\{0,1\}\([^"]*\)".*/\1/p' "$root/etc/libvirt/qemu.conf" 2>/dev/null)
    groups=$(id -Gn -- "$user" 2>/dev/null) && say qemu_user "$(id -un -- "$user")" "$groups"
fi
if test -z "${cards_only-}"; then
    first "$root/proc/sys/kernel/osrelease" && release=$line || release=
    first "$root/proc/cmdline" && say kernel "$release" "$line"
    count "$root"/sys/kernel/iommu_groups/* && say groups "$total"
    for table in DMAR IVRS; do test -e "$root/sys/firmware/acpi/tables/$table" && say table $table; done
    if test -d "$root/sys/module/vfio_pci"; then say module vfio_pci loaded
    elif modinfo -n vfio_pci >/dev/null 2>&1; then say module vfio_pci available
    else say module vfio_pci missing; fi
    awk '/^vendor_id/ { print "cpu\t" $3 } /^flags/ { print "virtualization\t" (/ (vmx|svm)( |$)/ ? "yes" : "no"); exit }' "$root/proc/cpuinfo"
    test -e "$root/dev/kvm" && say kvm "$(stat -c "%a${tab}%U:%G" "$root/dev/kvm")"
    first "$root/sys/module/apparmor/parameters/enabled"; test "$line" = Y && say apparmor on
fi

# Memory that a machine can have at once: what is free, and what only holds copies of files.
awk '
    $3 ~ /^(MemFree|Active\(file\)|Inactive\(file\)|SReclaimable):$/ { kib[$2] += $4 }
    END { for (cell in kib) printf "memory\t%s\t%.0f\n", cell, kib[cell] }' "$root"/sys/devices/system/node/node[0-9]*/meminfo 2>/dev/null
for device in "$devices"/*; do
    shows=; is_display "$device" && shows=yes
    test "$shows" || has_display "$device" || continue
    address=${device##*/}
    first "$device/reset_method"; reset=$line
    first "$device/power_state"; power=$line
    first "$device/boot_vga"; say device "$address" "$reset" "$power" "$line"
    number=0
    while test $number -lt 6 && read -r start end flags; do
        say bar "$address" "$start" "$end"; number=$((number + 1))
    done 2>/dev/null < "$device/resource"
    for node in "$device"/vfio-dev/*; do test -e "$node" && say node "/dev/vfio/devices/${node##*/}" "$address"; done
    test "$shows" || continue
    printf 'config\t%s\t' "$address"
    timeout 5 od -An -v -tx1 "$device/config" 2>/dev/null
    echo
done

for card in "$root"/sys/class/drm/card[0-9]* "$root"/sys/class/drm/renderD*; do
    case ${card##*/} in *-*) continue ;; esac
    where=$(cd -P "$card/device" 2>/dev/null && pwd -P) && say node "/dev/dri/${card##*/}" "${where##*/}"
done
for card in "$root"/proc/driver/nvidia/gpus/*; do
    while read -r one two minor; do
        test "$one $two" = "Device Minor:" && say node "/dev/nvidia$minor" "${card##*/}"
    done 2>/dev/null < "$card/information"
done
ls -l /proc/[0-9]*/fd 2>/dev/null | awk -v OFS='\t' '
    /^\/proc\/[0-9]+\/fd:/ { split($1, part, "/"); pid = part[3]; next }
    $NF ~ /^\/dev\/(nvidia[0-9]+|dri\/(card|renderD)[0-9]+|vfio\/([0-9]+|devices\/vfio[0-9]+))$/ && !seen[pid, $NF]++ { print "open", $NF, pid }' |
while read -r kind node pid; do first "/proc/$pid/comm"; say "$kind" "$node" "$pid" "$line"; done
for mark in "$root"/var/lib/nodus/quarantine/*; do
    test -f "$mark" && first "$mark" && say quarantine "${mark##*/}" "$line"
done
for path in "$@"; do
    say path "$path" "$(stat -c "%a${tab}%U${tab}%G${tab}%F" "$path" 2>/dev/null)"
    folder=$(dirname "$path")
    while say path "$folder" "$(stat -c "%a${tab}%U${tab}%G${tab}%F" "$folder" 2>/dev/null)"; do
        case $folder in / | .) break ;; esac
        folder=$(dirname "$folder")
    done
done
say end
