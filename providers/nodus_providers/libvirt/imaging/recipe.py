"""What the CPU image is made of: packages, and the few files that differ from Debian's own. Values only.

The agent brings its own sshd with keys of its own, so Debian's is there and switched off. cloud-init does what a first boot of ours needs
and no more: each of its modules costs an emulated machine a second.
"""

from __future__ import annotations

from collections.abc import Mapping

CPU_IMAGE = "nodus/workspace-cpu"
CPU_CONTENTS = "Debian 13: systemd, cloud-init, OpenSSH, QEMU's guest agent, Python 3 with venv and pip, git, rsync, curl"
SUITE = "trixie"
MIRROR = "http://deb.debian.org/debian"
SECURITY_MIRROR = "http://deb.debian.org/debian-security"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# The system, so that it boots, is reached and is given its home.
_SYSTEM = (
    "linux-image-cloud-amd64",
    "systemd",
    "systemd-sysv",
    "systemd-resolved",
    "udev",
    "dbus",
    "kmod",
    "e2fsprogs",
    "fdisk",
    "cloud-guest-utils",
    "cloud-init",
    "qemu-guest-agent",
    "openssh-server",
    "openssh-sftp-server",
    "iproute2",
    "procps",
    "pciutils",
    "systemd-boot-efi",
)
# What people work with.
_PEOPLE = (
    "ca-certificates",
    "curl",
    "git",
    "iputils-ping",
    "less",
    "nano",
    "openssh-client",
    "python3",
    "python3-pip",
    "python3-venv",
    "rsync",
    "tmux",
    "unzip",
    "wget",
)
# Kernel, initrd and file system are made with these, inside, so that the computer needn't have them.
_MAKING = ("busybox-static", "cpio", "lz4", "xz-utils", "zstd")
PACKAGES = tuple(sorted((*_SYSTEM, *_PEOPLE, *_MAKING)))

# Without QEMU's ROM there is no keyboard; the serial console is the one that is kept.
KERNEL_LINE = "root=/dev/vda2 rw console=ttyS0 net.ifnames=0 quiet"
_CLOUD = """\
# A machine of nodusctl gets a boothook, which makes its user, its home and its door itself.
datasource_list: [NoCloud, None]
users: []
disable_root: true
ssh_deletekeys: false
locale: false
network: {config: disabled}
manage_etc_hosts: false
cloud_init_modules: [bootcmd, write_files, growpart, resizefs, set_hostname, update_hostname]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts_user]
"""
_NETWORK = """\
[Match]
Name=e*

[Network]
DHCP=yes
"""


def sources(mirror: str) -> tuple[str, ...]:
    """The lines of sources.list, signed by Debian's own keys."""
    archive = mirror or MIRROR
    signed = f"deb [signed-by={KEYRING}]"
    return (
        f"{signed} {archive} {SUITE} main",
        f"{signed} {archive} {SUITE}-updates main",
        f"{signed} {SECURITY_MIRROR} {SUITE}-security main",
    )


FILES: Mapping[str, str] = {
    # Not the mirror it was made from, which may be near to this computer only.
    "etc/apt/sources.list": "".join(f"{line}\n" for line in sources("")),
    "etc/cloud/cloud.cfg.d/90_nodus.cfg": _CLOUD,
    "etc/systemd/network/20-nodus.network": _NETWORK,
    "etc/fstab": "PARTLABEL=nodus-root / ext4 noatime 0 0\n",
    "etc/hostname": "nodus\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost ip6-localhost\n",
    "etc/default/locale": "LANG=C.UTF-8\n",
    "etc/machine-id": "",
}
ENABLED = ("systemd-networkd.service", "systemd-resolved.service", "qemu-guest-agent.service")
DISABLED = ("ssh.service", "ssh.socket")
# Nothing here waits for a network, and a machine of a day needs no weekly care.
MASKED = (
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty@tty1.service",
    "serial-getty@ttyS0.service",
    "systemd-networkd-wait-online.service",
)
# What the initrd loads; what that needs in turn, and what is built in, is found when it is made.
MODULES = ("virtio_pci", "virtio_blk", "ext4")


def boot_entry(version: str) -> str:
    """systemd-boot's entry of the one kernel."""
    return f"title nodus\nversion {version}\nlinux /linux\ninitrd /initrd\noptions {KERNEL_LINE}\n"
