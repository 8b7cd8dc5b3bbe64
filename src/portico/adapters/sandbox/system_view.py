"""What of this machine is seen in every box: the programs of the system, and little of /etc."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

FOLDERS: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    *("/nix/store", "/gnu/store", "/run/current-system/sw"),
)
_SETTINGS: Final = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone"),
    *("ssl/certs", "ssl/openssl.cnf", "ssl/cert.pem", "ca-certificates", "ca-certificates.conf"),
    *("pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf"),
    *("crypto-policies", "mime.types", "fonts", "protocols", "services", "host.conf", "gai.conf"),
    *("terminfo", "os-release", "debian_version", "redhat-release", "magic", "papersize"),
)
SETTINGS: Final = tuple(f"/etc/{name}" for name in _SETTINGS)
DEVICES: Final = tuple(
    f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty")
)
OF_THE_KERNEL: Final = tuple(
    f"/proc/{name}"
    for name in (
        *("cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version", "vmstat"),
        *("sys/kernel/osrelease", "sys/kernel/ostype", "sys/kernel/pid_max", "sys/kernel/random"),
        *("sys/kernel/cap_last_cap", "sys/vm/overcommit_memory", "sys/vm/max_map_count"),
        *("sys/fs/file-max", "sys/fs/nr_open", "sys/kernel/ngroups_max", "sys/kernel/version"),
    )
)
"""What is no process, and tells of none."""
SCRATCH: Final = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 # a box's own
NAME: Final = "box"
"""Of the account, and of the machine, as it looks from inside."""
HOME: Final = "/home/box"


@dataclass(frozen=True, slots=True)
class Link:
    path: str
    target: str


def folders() -> Iterator[str | Link]:
    """Those that are there, as they are there."""
    for path in FOLDERS:
        if os.path.islink(path):  # noqa: PTH114 # a word for what is asked, of a string
            yield Link(path, os.readlink(path))  # noqa: PTH115 # as above
        elif os.path.isdir(path):  # noqa: PTH112 # as above
            yield path


def settings() -> Sequence[str]:
    return [path for path in SETTINGS if os.path.exists(path)]  # noqa: PTH110 # as above


def accounts(uid: int, gid: int, home: str) -> dict[str, str]:
    """The files that say who there is: one account, and its group."""
    return {
        "/etc/passwd": f"{NAME}:x:{uid}:{gid}:{NAME}:{home}:/bin/sh\n",
        "/etc/group": f"{NAME}:x:{gid}:\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n",
    }
