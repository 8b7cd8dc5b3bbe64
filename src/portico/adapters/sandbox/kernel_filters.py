"""Filters of the kernel: system calls by seccomp, files by Landlock."""

import errno
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from portico.adapters.sandbox import folders
from portico.adapters.sandbox.folders import Grant
from portico.kernel.json import JsonObject

ARCHITECTURES: Final = {"x86_64": (0xC000_003E, 0), "aarch64": (0xC000_00B7, 1)}
"""What the kernel calls it, and the column below."""

NUMBERS: Final[dict[str, tuple[int | None, int | None]]] = {
    "_sysctl": (156, None),
    "accept": (43, 202),
    "accept4": (288, 242),
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "creat": (85, None),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchownat": (260, 54),
    "file_setattr": (469, 469),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "futimesat": (261, None),
    "get_kernel_syms": (177, None),
    "init_module": (175, 105),
    "inotify_add_watch": (254, 27),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lchown": (94, None),
    "listen": (50, 201),
    "lookup_dcookie": (212, 18),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "migrate_pages": (256, 238),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "nfsservctl": (180, 42),
    "open": (2, None),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "openat": (257, 56),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "query_module": (178, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "request_key": (249, 218),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "semget": (64, 190),
    "sendmmsg": (307, 269),
    "sendmsg": (46, 211),
    "sendto": (44, 206),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, None),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "ustat": (136, None),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
    "vhangup": (153, 58),
    "vmsplice": (278, 75),
}

_LOAD: Final = 0x20
_AND: Final = 0x54
_EQUAL: Final = 0x15
_AT_LEAST: Final = 0x35
_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06

_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_ARGUMENTS: Final = 16

ALLOW: Final = 0x7FFF_0000
KILL: Final = 0x8000_0000
REFUSE: Final = 0x0005_0000
"""With the error's number in its lower half."""
_X32: Final = 0x4000_0000

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET = 1, 5
_KIND_OF_SOCKET: Final = 0xF
_TCP: Final = 6
_NEW_NAMESPACES: Final = 0x7E02_0080
"""The flags of `clone` that make one: CLONE_NEWNS, NEWCGROUP, NEWUTS … NEWNET, NEWTIME."""
_FAST_OPEN: Final = 0x2000_0000
_TERMINAL_TRICKS: Final = (0x5412, 0x541C, 0x5423)
"""TIOCSTI, TIOCLINUX, TIOCSETD: they type for others, or load line disciplines."""

_SETUID: Final = 0o4000
_CREATES: Final = 0o20000100
"""O_CREAT, O_TMPFILE: the flags of `open` with which it looks at a mode."""

Test: TypeAlias = Literal["has a bit of", "is one of", "is none of"]


@dataclass(frozen=True, slots=True)
class When:
    """Something about the lower half of an argument, which is all of it unless it is a pointer."""

    argument: int
    test: Test
    values: tuple[int, ...]
    mask: int = 0xFFFF_FFFF
    upper: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    call: str
    error: int = errno.EPERM
    when: tuple[When, ...] = ()
    """All of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    namespaces: bool
    """Whether it has a network, processes and files of its own; else more has to be barred."""
    network: bool
    counted: bool
    """Whether the kernel counts its memory as a whole; else none may be had that nobody sees."""

    @property
    def rules(self) -> Sequence[Rule]:
        rules = [*_ALWAYS]
        rules += _IN_NAMESPACES if self.namespaces else _without_namespaces(network=self.network)
        rules += () if self.counted else [Rule("memfd_create", errno.ENOSYS)]
        return rules

    def program(self, machine: str) -> bytes:
        """Raises `KeyError` for a machine that we have no numbers of."""
        return assemble(self.rules, machine)


def _bars(*calls: str, error: int = errno.EPERM) -> list[Rule]:
    return [Rule(call, error) for call in calls]


_ALWAYS: Final = [
    # Other processes, and what the kernel knows of them.
    *_bars("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"),
    *_bars("process_madvise", "process_mrelease", "perf_event_open", "move_pages", "migrate_pages"),
    Rule("prlimit64", when=(When(0, "is none of", (0,)),)),
    # Mounts and roots.
    *_bars("mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr"),
    *_bars("move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"),
    # Namespaces. Without clone3, whose flags no filter can read, libraries use clone.
    *_bars("unshare", "setns"),
    Rule("clone", when=(When(0, "has a bit of", (_NEW_NAMESPACES,)),)),
    Rule("clone3", errno.ENOSYS),
    # Parts of the kernel that nobody in a box needs, and that had more holes than others.
    *_bars("add_key", "request_key", "keyctl", "bpf", "userfaultfd", "open_by_handle_at"),
    *_bars("io_uring_setup", "io_uring_enter", "io_uring_register", error=errno.ENOSYS),
    *_bars("fanotify_init", "fanotify_mark", "lookup_dcookie", "vmsplice"),
    # The machine itself.
    *_bars("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"),
    *_bars("create_module", "query_module", "get_kernel_syms", "reboot", "swapon", "swapoff"),
    *_bars("acct", "quotactl", "quotactl_fd", "ioperm", "iopl", "modify_ldt", "vhangup", "syslog"),
    *_bars("settimeofday", "clock_settime", "sethostname", "setdomainname", "nfsservctl"),
    *_bars("uselib", "ustat", "sysfs", "_sysctl"),
    Rule("personality", when=(When(0, "is none of", (0, 0xFFFF_FFFF)),)),
    Rule("ioctl", when=(When(1, "is one of", _TERMINAL_TRICKS),)),
    # Programs that would give their account's rights to whoever runs them outside.
    *(
        Rule(call, when=(When(place, "has a bit of", (_SETUID,)),))
        for call, place in (
            *(("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2)),
            *(("creat", 1), ("mknod", 1), ("mknodat", 2)),
        )
    ),
    *(
        Rule(
            call,
            when=(
                When(place, "has a bit of", (_CREATES,)),
                When(place + 1, "has a bit of", (_SETUID,)),
            ),
        )
        for call, place in (("open", 1), ("openat", 2))
    ),
    # Its flags are where no filter can read them; without it libraries use openat.
    Rule("openat2", errno.ENOSYS),
    # Memory that outlives whoever made it, and that is in nobody's account.
    *_bars("shmget", error=errno.ENOSYS),
]

_IN_NAMESPACES: Final = [
    Rule(
        "socket",
        errno.EAFNOSUPPORT,
        (When(0, "is none of", (_UNIX, _INET, _INET6, _NETLINK)),),
    ),
    # Which addresses it has (os.networkInterfaces), and nothing else of netlink.
    Rule(
        "socket",
        errno.EPROTONOSUPPORT,
        (When(0, "is one of", (_NETLINK,)), When(2, "is none of", (0,))),
    ),
]


def _without_namespaces(*, network: bool) -> Sequence[Rule]:
    """Landlock knows of files, of TCP and of signals; what it does not know of is barred here."""
    return [
        *(_TCP_ALONE if network else _bars("socket", error=errno.EAFNOSUPPORT)),
        # Without `bind`, where Landlock looks, it would be on any port, and for everybody.
        *_bars("listen", "accept", "accept4"),
        # A pair of datagram sockets could be pointed at any socket file there is.
        Rule(
            "socketpair",
            errno.EPROTONOSUPPORT,
            (When(1, "is none of", (_STREAM, _SEQPACKET), _KIND_OF_SOCKET),),
        ),
        # It connects without `connect`, which is where Landlock looks.
        *(
            Rule(call, errno.EOPNOTSUPP, (When(place, "has a bit of", (_FAST_OPEN,)),))
            for call, place in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3))
        ),
        # Landlock lets the owner of a file change all but its content, wherever it is.
        *_bars("chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "utime", "utimes"),
        *_bars("futimesat", "setxattr", "lsetxattr", "removexattr", "lremovexattr", "setxattrat"),
        *_bars("removexattrat", "file_setattr"),
        Rule("utimensat", when=(When(1, "is none of", (0,)),)),
        Rule("utimensat", when=(When(1, "is none of", (0,), upper=True),)),
        # And it lets anybody watch who uses which file.
        *_bars("inotify_init", "inotify_init1", "inotify_add_watch"),
        # Things that are shared by all processes of one account.
        *_bars("msgget", "semget", "mq_open"),
        *(
            Rule(call, when=(When(0, "is none of", (0,)),))
            for call in ("sched_setaffinity", "sched_setparam", "sched_setscheduler")
        ),
        Rule("sched_setattr", when=(When(0, "is none of", (0,)),)),
        Rule("setpriority", when=(When(0, "is none of", (0,)),)),
        Rule("setpriority", when=(When(1, "is none of", (0,)),)),
        Rule("ioprio_set", when=(When(0, "is none of", (1,)),)),
        Rule("ioprio_set", when=(When(1, "is none of", (0,)),)),
    ]


_TCP_ALONE: Final = [
    Rule("socket", errno.EAFNOSUPPORT, (When(0, "is none of", (_INET, _INET6)),)),
    Rule("socket", errno.EPROTONOSUPPORT, (When(1, "is none of", (_STREAM,), _KIND_OF_SOCKET),)),
    Rule("socket", errno.EPROTONOSUPPORT, (When(2, "is none of", (0, _TCP)),)),
]


@dataclass(frozen=True, slots=True)
class _Step:
    code: int
    value: int
    yes: int = 0
    no: int = 0
    """How many of the next steps are skipped."""

    @property
    def packed(self) -> bytes:
        return struct.pack("<HBBI", self.code, self.yes, self.no, self.value)


def assemble(rules: Sequence[Rule], machine: str) -> bytes:
    """Raises `KeyError`."""
    architecture, column = ARCHITECTURES[machine]
    steps = [
        _Step(_LOAD, _ARCHITECTURE),
        _Step(_EQUAL, architecture, yes=1),
        _Step(_RETURN, KILL),
        _Step(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        steps += [_Step(_AT_LEAST, _X32, no=1), _Step(_RETURN, KILL)]
    for rule in rules:
        number = NUMBERS[rule.call][column]
        if number is not None:
            steps += _of_rule(rule, number)
    steps.append(_Step(_RETURN, ALLOW))
    return b"".join(step.packed for step in steps)


def _of_rule(rule: Rule, number: int) -> list[_Step]:
    refusal = _Step(_RETURN, REFUSE | rule.error)
    if not rule.when:
        return [_Step(_EQUAL, number, no=1), refusal]
    inner = [refusal, _Step(_LOAD, _NUMBER)]
    for condition in reversed(rule.when):
        inner = [*_of_condition(condition, past=len(inner) - 1), *inner]
    return [_Step(_EQUAL, number, no=len(inner)), *inner]


def _of_condition(condition: When, *, past: int) -> list[_Step]:
    """Goes on if it holds; else over the next `past` steps, to where the number is loaded again."""
    steps = [_Step(_LOAD, _ARGUMENTS + 8 * condition.argument + 4 * condition.upper)]
    if condition.mask != 0xFFFF_FFFF:
        steps.append(_Step(_AND, condition.mask))
    last = len(condition.values) - 1
    for index, value in enumerate(condition.values):
        rest = last - index
        match condition.test:
            case "has a bit of":
                steps.append(_Step(_ANY_BIT, value, yes=rest, no=0 if rest else past))
            case "is one of":
                steps.append(_Step(_EQUAL, value, yes=rest, no=0 if rest else past))
            case "is none of":
                steps.append(_Step(_EQUAL, value, yes=rest + past))
    return steps


SIGNALS_SCOPED: Final = 6
"""The version from which on signals and abstract sockets are held back too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    read: Sequence[str]
    write: Sequence[str]
    devices: Sequence[str] = folders.DEVICES
    listed: Sequence[str] = ()
    """Folders whose names may be read, and those of all folders in them."""
    ports: Sequence[int] | None = None
    """On this machine that may be connected to; None where Landlock is not asked about them."""
    least: int = 0
    """The oldest version of Landlock that will do."""

    def told(self) -> JsonObject:
        return {
            "read": list(self.read),
            "write": list(self.write),
            "devices": list(self.devices),
            "listed": list(self.listed),
            "ports": None if self.ports is None else list(self.ports),
            "least": self.least,
        }


def in_namespaces(grants: Sequence[Grant], home: str) -> Rules:
    """By the paths inside, where nothing but what was granted is there in the first place."""
    read = [*folders.FOLDERS, "/etc", "/proc", *_paths(grants, writable=False)]
    write = ["/tmp", "/var/tmp", "/dev/shm", home, *_paths(grants, writable=True)]  # noqa: S108 # a box's own
    devices = (*folders.DEVICES, "/dev/pts", "/dev/ptmx")
    return Rules(read=read, write=write, devices=devices, listed=["/"])


def without(grants: Sequence[Grant], home: str, scratch: str, ports: Sequence[int]) -> Rules:
    """By the paths of this machine. Of processes it may read of itself alone."""
    system = [*folders.FOLDERS, *folders.SETTINGS, *folders.OF_THE_KERNEL]
    read = [*system, *_NAMES, "/proc/self", *_paths(grants, writable=False)]
    write = [scratch, home, *_paths(grants, writable=True)]
    return Rules(read=read, write=write, ports=ports, least=SIGNALS_SCOPED)


_NAMES: Final = tuple(f"/etc/{name}" for name in ("passwd", "group", "nsswitch.conf", "hosts"))


def _paths(grants: Sequence[Grant], *, writable: bool) -> Sequence[str]:
    return [each.real for each in grants if each.writable is writable]
