"""Which folders of this machine a sandbox sees: those of the system, granted ones, and
reserved ones.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.gateway.core.servers import within
from portico.sandbox.core.errors import InvalidProfile
from portico.sandbox.core.profile import SandboxCommand

# What of this machine is seen in every box: the programs of the system, and little of /etc.

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


_OF_THE_SYSTEM: Final = (*FOLDERS, "/etc", "/proc", "/sys", "/dev", "/run", "/boot")
"""What every box has of its own, or nobody has."""
_DRAWERS: Final = (".local", ".local/share", ".local/lib", ".local/bin", ".cache", ".config")
"""Below the home: where many programs keep something, some of them their keys."""
_OF_TOOLS: Final = (
    *(".pyenv/versions", ".local/share/uv/python", ".local/share/uv/tools", ".rye/py"),
    *(".local/share/pipx/venvs", ".local/pipx/venvs", "miniconda3", "miniforge3", "anaconda3"),
    *(".nvm/versions", ".fnm/node-versions", ".local/share/fnm/node-versions", ".volta/tools"),
    *(".bun", ".deno", ".local/share/mise/installs", ".asdf/installs", ".sdkman/candidates"),
    *(".rustup/toolchains", ".rbenv/versions", ".goenv/versions"),
)
"""Below a home: where toolchains are kept, and nothing else is."""
_OF_ALL: Final = ("/opt", "/home/linuxbrew/.linuxbrew", "/usr/local")


@dataclass(frozen=True, slots=True)
class Reserved:
    home: str
    """Of whoever Portico runs as."""
    hidden: tuple[str, ...]
    """What is Portico's own, and nobody else's to see."""
    program: tuple[str, ...] = ()
    """Portico itself, which may be seen and never changed."""

    def bar(self, path: str) -> bool:
        """Whether it is too much: the home, what holds it, the top of the disk, a drawer that
        many programs share, or something of ours."""
        if path.count("/") < 2 or within(self.home, path):
            return True
        drawers = [f"{self.home}/{each}" for each in _DRAWERS]
        return path in drawers or any(within(path, ours) for ours in self.hidden)

    def holds_ours(self, path: str) -> bool:
        """Whether who may change it could change, or take the place of, something of ours."""
        beneath = any(within(ours, path) for ours in (*self.hidden, *self.program))
        return beneath or any(within(path, ours) for ours in self.program)

    def keeps_tools(self, path: str) -> bool:
        hidden = any(within(path, ours) for ours in self.hidden)
        somebodys = any(f"/{each}/" in path for each in _OF_TOOLS)
        return not hidden and (somebodys or any(within(path, each) for each in _OF_ALL))


def of_the_system(path: str) -> bool:
    return any(within(path, folder) for folder in _OF_THE_SYSTEM)


def fewest(paths: Iterable[str], covered: Iterable[str] = ()) -> tuple[str, ...]:
    """Without those that lie in another one, or in one of `covered`."""
    known, wanted = list(covered), list(dict.fromkeys(paths))
    return tuple(
        path
        for path in wanted
        if not any(within(path, folder) for folder in known)
        and not any(within(path, other) and path != other for other in wanted)
    )


_NEVER: Final = ("/", "/etc")
_NEVER_BELOW: Final = ("/proc", "/sys", "/dev", "/boot", "/run", "/var/run")
"""In the last two are the sockets of the system: whoever sees one may connect to it."""


@dataclass(frozen=True, slots=True)
class Grant:
    path: str
    """As it was named, and is seen inside."""
    real: str
    """What it is."""
    writable: bool


@dataclass(frozen=True, slots=True)
class Bounds:
    hidden: tuple[str, ...]
    """Never seen: real paths."""
    lent: tuple[str, ...]
    """Folders in these whose own folders may be the home of something nevertheless."""

    @classmethod
    def of(cls, hidden: Iterable[Path], lent: Iterable[Path]) -> "Bounds":
        return cls(_real(hidden), _real(lent))

    def is_lent(self, real: str) -> bool:
        return any(is_below(real, each) and real != each for each in self.lent)

    def hides(self, real: str) -> bool:
        return any(is_below(real, each) for each in self.hidden)

    def hidden_in(self, real: str) -> Sequence[str]:
        return [each for each in self.hidden if is_below(each, real)]


def granted(order: SandboxCommand, bounds: Bounds) -> Sequence[Grant]:
    """What its profile names; one that is named twice may be written if it may be once.
    Raises `InvalidProfile`."""
    profile = order.profile
    writable = [_grant(path, bounds, writable=True) for path in profile.write]
    readable = [_grant(path, bounds, writable=False) for path in profile.read]
    for each in (*readable, *writable):
        _refuse_planted(each, writable)
    by_path = {each.path: each for each in (*readable, *writable)}
    return sorted(by_path.values(), key=lambda each: each.path)


def home_of(order: SandboxCommand, bounds: Bounds) -> str | None:
    """The real folder that becomes its home: one of those that are lent, which no profile can
    name, or any that a profile could. Raises `InvalidProfile`."""
    if order.home is None:
        return None
    real = _real_path(order.home)
    return real if bounds.is_lent(real) else _grant(order.home, bounds, writable=True).real


def is_below(path: str, folder: str) -> bool:
    """Or that very folder."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _grant(path: str, bounds: Bounds, *, writable: bool) -> Grant:
    named, real = path.rstrip("/") or "/", _real_path(path)
    for each in (named, real):
        if each in _NEVER or any(is_below(each, folder) for folder in _NEVER_BELOW):
            raise InvalidProfile(f"{each!r} is never given to a box")
        if bounds.hides(each):
            raise InvalidProfile(f"{path!r} is part of Portico's own")
    return Grant(named, real, writable)


def _real_path(path: str) -> str:
    named = path.rstrip("/") or "/"
    if not path.startswith("/") or "\0" in path or os.path.normpath(path) != named:
        raise InvalidProfile(f"{path!r} is not a whole path")
    try:
        return os.path.realpath(named, strict=True)
    except OSError as error:
        raise InvalidProfile(f"{path!r} is not there: {error.strerror}") from error


def _refuse_planted(grant: Grant, writable: Sequence[Grant]) -> None:
    """What may be written to may hold a link that was put there to be followed."""
    for folder in writable:
        inside = grant.path != folder.path and is_below(grant.path, folder.path)
        if inside and not is_below(grant.real, folder.real):
            raise InvalidProfile(f"{grant.path!r} is a link in a folder that the box may change")


def _real(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(sorted({os.path.realpath(path) for path in paths}))
