"""The system calls that nothing in a box may make, as a program for the kernel's filter."""

import errno
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from portico.adapters.sandbox.system_calls import ARCHITECTURES, NUMBERS

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
