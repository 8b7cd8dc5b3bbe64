"""The filter of system calls, run step by step as the kernel would."""

import errno
import struct
from collections.abc import Sequence

import pytest

from portico.adapters.sandbox.kernel_filters import (
    ALLOW,
    ARCHITECTURES,
    KILL,
    NUMBERS,
    REFUSE,
    Filter,
    Rule,
    When,
    assemble,
)

CASES = [
    Filter(namespaces=namespaces, network=network, counted=counted)
    for namespaces in (True, False)
    for network in (True, False)
    for counted in (True, False)
]
BOXED, BARE = (
    Filter(namespaces=namespaces, network=True, counted=False) for namespaces in (True, False)
)
OFFLINE = Filter(namespaces=False, network=False, counted=False)
PERM = REFUSE | errno.EPERM


def verdict(program: bytes, number: int, arguments: Sequence[int], architecture: int) -> int:
    """What the kernel would do; a small interpreter of the language that it reads."""
    padded = [*arguments, *[0] * 6][:6]
    seen = struct.pack("<iIQ6Q", number, architecture, 0, *padded)
    steps = list(struct.iter_unpack("<HBBI", program))
    register, place = 0, 0
    while True:
        code, yes, no, value = steps[place]
        place += 1
        match code:
            case 0x20:
                (register,) = struct.unpack_from("<I", seen, value)
            case 0x54:
                register &= value
            case 0x15:
                place += yes if register == value else no
            case 0x35:
                place += yes if register >= value else no
            case 0x45:
                place += yes if register & value else no
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(code)


def asked(case: Filter, call: str, *arguments: int, machine: str = "x86_64") -> int:
    architecture, column = ARCHITECTURES[machine]
    number = NUMBERS[call][column]
    assert number is not None
    return verdict(case.program(machine), number, arguments, architecture)


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_rule_without_a_condition_refuses_its_call(case: Filter, machine: str) -> None:
    column = ARCHITECTURES[machine][1]
    for rule in case.rules:
        if not rule.when and NUMBERS[rule.call][column] is not None:
            assert asked(case, rule.call, machine=machine) == REFUSE | rule.error, rule


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_call_without_a_rule_is_allowed(case: Filter, machine: str) -> None:
    architecture, column = ARCHITECTURES[machine]
    barred = {NUMBERS[rule.call][column] for rule in case.rules}
    program = case.program(machine)
    for number in set(range(500)) - barred:
        assert verdict(program, number, [2**64 - 1] * 6, architecture) == ALLOW


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_calls_of_another_architecture_end_it(machine: str) -> None:
    program = BOXED.program(machine)

    for architecture in (0x40000003, 0x40000028, 0, 0xFFFFFFFF):
        assert verdict(program, 0, [], architecture) == KILL


@pytest.mark.parametrize("number", [0x40000000, 0x40000039, 0xFFFFFFFF - 2**32])
def test_calls_of_x32_end_it(number: int) -> None:
    assert verdict(BOXED.program("x86_64"), number, [], ARCHITECTURES["x86_64"][0]) == KILL


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize(
    ("case", "call", "arguments", "wanted"),
    [
        (BOXED, "clone", (17,), ALLOW),
        (BOXED, "clone", (0x3D0F00,), ALLOW),
        *((BOXED, "clone", (17 | 1 << bit,), PERM) for bit in (17, 25, 26, 27, 28, 29, 30)),
        (BOXED, "clone3", (), REFUSE | errno.ENOSYS),
        (BOXED, "personality", (0,), ALLOW),
        (BOXED, "personality", (0xFFFFFFFF,), ALLOW),
        (BOXED, "personality", (0x0040000,), PERM),
        (BOXED, "ioctl", (0, 0x5401), ALLOW),
        (BOXED, "ioctl", (0, 0x5412), PERM),
        (BOXED, "ioctl", (0, 0x541C), PERM),
        (BOXED, "ioctl", (0, 0x5412 | 1 << 32), PERM),
        (BOXED, "prlimit64", (0, 7), ALLOW),
        (BOXED, "prlimit64", (1234, 7), PERM),
        (BOXED, "socket", (1, 1, 0), ALLOW),
        (BOXED, "socket", (2, 2, 0), ALLOW),
        (BOXED, "socket", (10, 1, 6), ALLOW),
        (BOXED, "socket", (16, 3, 0), ALLOW),
        (BOXED, "socket", (16, 3, 9), REFUSE | errno.EPROTONOSUPPORT),
        *(
            (BOXED, "socket", (family, 1, 0), REFUSE | errno.EAFNOSUPPORT)
            for family in (0, 3, 9, 17, 30, 38, 40, 44)
        ),
        (BARE, "socket", (2, 1, 0), ALLOW),
        (BARE, "socket", (10, 1 | 0o2000000 | 0o4000, 6), ALLOW),
        (BARE, "socket", (2, 2, 0), REFUSE | errno.EPROTONOSUPPORT),
        (BARE, "socket", (2, 3, 0), REFUSE | errno.EPROTONOSUPPORT),
        (BARE, "socket", (2, 1, 262), REFUSE | errno.EPROTONOSUPPORT),
        (BARE, "socket", (1, 1, 0), REFUSE | errno.EAFNOSUPPORT),
        (BARE, "socket", (16, 3, 0), REFUSE | errno.EAFNOSUPPORT),
        (BARE, "socket", (1 << 32 | 1, 1, 0), REFUSE | errno.EAFNOSUPPORT),
        (OFFLINE, "socket", (2, 1, 0), REFUSE | errno.EAFNOSUPPORT),
        (BARE, "socketpair", (1, 1 | 0o2000000, 0), ALLOW),
        (BARE, "socketpair", (1, 5, 0), ALLOW),
        (BARE, "socketpair", (1, 2, 0), REFUSE | errno.EPROTONOSUPPORT),
        (BARE, "socketpair", (1, 3, 0), REFUSE | errno.EPROTONOSUPPORT),
        (BOXED, "socketpair", (1, 2, 0), ALLOW),
        (BARE, "sendto", (3, 0, 0, 0x4000), ALLOW),
        (BARE, "sendto", (3, 0, 0, 0x20004000), REFUSE | errno.EOPNOTSUPP),
        (BARE, "sendmsg", (3, 0, 0x20000000), REFUSE | errno.EOPNOTSUPP),
        (BARE, "sendmmsg", (3, 0, 1, 0x20000000), REFUSE | errno.EOPNOTSUPP),
        (BARE, "utimensat", (3, 0, 0, 0), ALLOW),
        (BARE, "utimensat", (3, 0x7FFF0000, 0, 0), PERM),
        (BARE, "utimensat", (3, 1 << 32, 0, 0), PERM),
        (BOXED, "utimensat", (3, 0x7FFF0000, 0, 0), ALLOW),
        (BARE, "setpriority", (0, 0, 5), ALLOW),
        (BARE, "setpriority", (0, 1, 5), PERM),
        (BARE, "setpriority", (2, 0, 5), PERM),
        (BARE, "sched_setaffinity", (0,), ALLOW),
        (BARE, "sched_setaffinity", (1,), PERM),
        (BOXED, "sched_setaffinity", (1,), ALLOW),
        (BARE, "ioprio_set", (1, 0, 0), ALLOW),
        (BARE, "ioprio_set", (3, 0, 0), PERM),
        (BARE, "ioprio_set", (1, 1, 0), PERM),
        (BARE, "inotify_init1", (), PERM),
        (BOXED, "inotify_init1", (), ALLOW),
    ],
)
def test_a_call_is_judged_by_its_arguments(
    case: Filter, call: str, arguments: tuple[int, ...], wanted: int, machine: str
) -> None:
    assert asked(case, call, *arguments, machine=machine) == wanted


def test_memory_without_a_name_is_barred_where_nobody_counts_it() -> None:
    counted = Filter(namespaces=True, network=True, counted=True)

    assert asked(BOXED, "memfd_create") == REFUSE | errno.ENOSYS
    assert asked(counted, "memfd_create") == ALLOW


def test_a_rule_with_several_conditions_needs_them_all() -> None:
    both = Rule("ioctl", when=(When(0, "is one of", (1, 2)), When(1, "has a bit of", (4, 8))))
    number, (architecture, _) = NUMBERS["ioctl"][0], ARCHITECTURES["x86_64"]
    assert number is not None
    program = assemble([both, Rule("ptrace")], "x86_64")

    held = {
        (first, second): verdict(program, number, (first, second), architecture) == PERM
        for first in (0, 1, 2, 3)
        for second in (0, 4, 8, 12, 3)
    }

    assert held == {key: key[0] in (1, 2) and key[1] & 12 != 0 for key in held}


def test_machines_that_we_do_not_know_have_no_filter() -> None:
    with pytest.raises(KeyError):
        BOXED.program("riscv64")
