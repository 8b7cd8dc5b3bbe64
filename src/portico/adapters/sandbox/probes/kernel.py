"""Attempts at the kernel, at limits, and those that the sandbox must end as a whole."""

import ctypes
import fcntl
import mmap
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Final

from portico.adapters.sandbox.probes.runtime import Held, Marks, answers, attempt, kernel

_NEW_USER, _NEW_MOUNTS, _NEW_NETWORK, _NEW_PROCESSES = 0x10000000, 0x20000, 0x40000000, 0x20000000
_CHILD_ENDED: Final = 17
_TYPE: Final = 0x5412
_MAY_NOT_GAIN: Final = 39
_CAPABILITIES: Final = 0x20080522


@attempt
def new_user_namespace(marks: Marks) -> str:
    kernel("unshare", _NEW_USER)
    return "made one"


@attempt
def new_user_namespace_by_clone(marks: Marks) -> str:
    child = kernel("clone", _NEW_USER | _CHILD_ENDED, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "made one"


@attempt
def new_user_namespace_by_clone3(marks: Marks) -> str:
    child = kernel("clone3", struct.pack("11Q", _NEW_USER, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "made one"


@attempt
def new_mount_namespace(marks: Marks) -> str:
    kernel("unshare", _NEW_MOUNTS)
    return "made one"


@attempt
def new_network_namespace(marks: Marks) -> str:
    kernel("unshare", _NEW_NETWORK)
    return "made one"


@attempt
def new_process_namespace(marks: Marks) -> str:
    kernel("unshare", _NEW_PROCESSES)
    return "made one"


@attempt
def enter_namespace(marks: Marks) -> str:
    for kind in ("net", "mnt", "user", "pid"):
        with suppress(OSError):
            kernel("setns", os.open(f"/proc/{marks.process}/ns/{kind}", os.O_RDONLY), 0)
            return f"went into its {kind} namespace"
    return answers("setns", 0, 0)


@attempt
def mount(marks: Marks) -> str:
    return answers("mount", b"none", b"/", b"no-such-kind", 0, None)


@attempt
def mount_by_new_calls(marks: Marks) -> str:
    return answers("fsopen", b"no-such-kind", 0)


@attempt
def turn_root(marks: Marks) -> str:
    return answers("pivot_root", b"/nowhere", b"/nowhere")


@attempt
def change_root(marks: Marks) -> str:
    os.chroot("/")
    return "changed it"


@attempt
def keyring(marks: Marks) -> str:
    return answers("add_key", b"user", b"portico-probe", b"x", 1, -1 & 0xFFFFFFFF)


@attempt
def keyring_of_others(marks: Marks) -> str:
    return answers("keyctl", 0, -4 & 0xFFFFFFFF, 0, 0, 0)


@attempt
def programs_in_kernel(marks: Marks) -> str:
    return answers("bpf", 0, bytes(8), 8)


@attempt
def performance_counters(marks: Marks) -> str:
    counted = struct.pack("IIQQQQQ", 1, 64, 1, 0, 0, 0, 1 << 5 | 1 << 6) + bytes(16)
    return answers("perf_event_open", counted, 0, -1, -1, 0)


@attempt
def queued_calls(marks: Marks) -> str:
    return answers("io_uring_setup", 1, bytes(120))


@attempt
def faults_by_hand(marks: Marks) -> str:
    return answers("userfaultfd", 1)


@attempt
def file_events(marks: Marks) -> str:
    return answers("fanotify_init", 0, 0)


@attempt
def load_module(marks: Marks) -> str:
    return answers("init_module", None, 0, b"")


@attempt
def restart_machine(marks: Marks) -> str:
    return answers("reboot", 0, 0, 0, None)


@attempt
def change_kernel(marks: Marks) -> str:
    return answers("kexec_load", 0, 1 << 30, None, 0xFFFF)


@attempt
def kernel_log(marks: Marks) -> str:
    return answers("syslog", 3, ctypes.string_at(b" " * 64), 64)


@attempt
def set_clock(marks: Marks) -> str:
    return answers("settimeofday", None, None)


@attempt
def set_name(marks: Marks) -> str:
    return answers("sethostname", None, -1)


@attempt
def swap(marks: Marks) -> str:
    return answers("swapon", None, 0)


@attempt
def process_accounts(marks: Marks) -> str:
    return answers("acct", b"/no/such/file")


@attempt
def other_personality(marks: Marks) -> str:
    """Without the addresses being shuffled, a hole is easier to use."""
    kernel("personality", 0x0040000)
    return "addresses are not shuffled any more"


@attempt
def calls_of_32_bits(marks: Marks) -> str:
    """Have other numbers, which a filter may not know."""
    if os.uname().machine != "x86_64":
        raise Held("there are none on this kind of machine")
    ring, entries = 425, 1
    code = b"\x53\xb8" + struct.pack("I", ring) + b"\xbb" + struct.pack("I", entries)
    room = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    room.write(code + b"\x31\xc9\xcd\x80\x5b\xc3")
    child = os.fork()
    if child == 0:
        address = ctypes.addressof(ctypes.c_char.from_buffer(room))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        os._exit(0 if result == -14 else 1)
    code_of_child = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code_of_child != 0:
        raise Held(f"ended by signal {-code_of_child}" if code_of_child < 0 else "not answered")
    return "they are answered"


@attempt
def type_into_terminal(marks: Marks) -> str:
    """Of its own, should there be no other: whoever may there may also elsewhere."""
    child, _ = os.forkpty()
    if child == 0:
        try:
            fcntl.ioctl(0, _TYPE, b" ")
        except OSError as error:
            os._exit(error.errno or 255)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 0:
        raise OSError(code, "ioctl")
    return "typed a space"


@attempt
def become_root(marks: Marks) -> str:
    if os.geteuid() != 0:
        os.setuid(0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0)
    rights = (ctypes.c_uint32 * 6)()
    ctypes.CDLL(None).capget(header, rights)
    if not any(rights):
        raise Held("it is root in name alone")
    return "it is"


@attempt
def become_another(marks: Marks) -> str:
    os.setresuid(12_345, 12_345, 12_345)
    return "became another account"


@attempt
def join_groups(marks: Marks) -> str:
    os.setgroups([0])
    return "joined one"


@attempt
def setuid_program(marks: Marks) -> str:
    """By one that says who it is; where there is none, by whether one could."""
    with suppress(FileNotFoundError, PermissionError):
        planted = [f"{marks.workspace}/planted-setuid", "-u"]
        done = subprocess.run(planted, capture_output=True, check=False)
        if done.stdout.strip() == b"0":
            return "it ran as root"
    if ctypes.CDLL(None).prctl(_MAY_NOT_GAIN, 0, 0, 0, 0) != 1:
        return "nothing would keep one from it"
    raise Held("none gives its rights")


@attempt
def raise_priority(marks: Marks) -> str:
    os.nice(-5)
    return "goes before others"


@attempt
def real_time(marks: Marks) -> str:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    return "goes before all others"


@attempt
def raise_limits(marks: Marks) -> str:
    for kind in (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
        most = resource.getrlimit(kind)[1]
        if most == resource.RLIM_INFINITY:
            return "there is none"
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (most + 1, most + 1))
            return "raised one"
    raise Held("none could be raised")


@attempt
def dump_memory(marks: Marks) -> str:
    """What a crash leaves behind is a file of everything it knew; or a program outside gets it,
    and is run as root for it. Only a limit of one byte keeps the kernel from both."""
    if resource.getrlimit(resource.RLIMIT_CORE) == (1, 1):
        raise Held("none is written")
    return "it would be written"


_CHUNK: Final = bytes(1 << 20)


@attempt
def too_many_processes(marks: Marks) -> str:
    """Twice as many: where only the account's are counted, others of it may end meanwhile."""
    children: list[int] = []
    try:
        for _ in range(2 * marks.processes):
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    finally:
        for each in children:
            os.kill(each, signal.SIGKILL)
        for each in children:
            os.waitpid(each, 0)
    return f"{len(children)} at once"


@attempt
def too_many_threads(marks: Marks) -> str:
    over = threading.Event()
    threading.stack_size(64 * 1024)
    made = 0
    try:
        for _ in range(2 * marks.processes):
            threading.Thread(target=over.wait, daemon=True).start()
            made += 1
    except RuntimeError:
        raise Held("no more could be started") from None
    finally:
        over.set()
    return f"{made} at once"


@attempt
def too_large_file(marks: Marks) -> str:
    path = f"{marks.workspace}/large"
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, marks.file_size + 1)
    finally:
        os.unlink(path)
    return f"{marks.file_size + 1} bytes"


@attempt
def too_many_files(marks: Marks) -> str:
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(marks.open_files + 5)]
    return f"{len(opened)} at once"


@attempt
def too_much_scratch(marks: Marks) -> str:
    """In its folder for temporary files, which is all that it may fill beside what was granted."""
    folder = os.environ.get("TMPDIR", "/tmp")  # its own, inside
    wanted, made = marks.scratch + (8 << 20), 0
    names: list[str] = []
    until = time.monotonic() + 15
    try:
        while made < wanted and time.monotonic() < until:
            names.append(f"{folder}/scratch-{len(names)}")
            with open(names[-1], "wb") as file:
                for _ in range(8):
                    made += file.write(_CHUNK)
    finally:
        for name in names:
            with suppress(OSError):
                os.unlink(name)
    return f"{made} bytes"


_STEP: Final = 4 << 20


@attempt
def too_much_memory(marks: Marks) -> str:
    _touched(marks.memory * 3 // 2)
    return _waited()


@attempt
def too_much_shared_memory(marks: Marks) -> str:
    """That several could use together, and that is in no single one's account."""
    kept = []
    for _ in range(marks.memory * 3 // 2 // _STEP):
        kept.append(mmap.mmap(-1, _STEP))
        kept[-1].write(b"x" * _STEP)
    return _waited()


@attempt
def too_much_memory_together(marks: Marks) -> str:
    """Each has less than all may have, and all have more."""
    for _ in range(5):
        if os.fork() == 0:
            kept = _touched(marks.memory * 2 // 5)
            time.sleep(30)
            os._exit(len(kept) == 0)
    return _waited()


@attempt
def too_long(marks: Marks) -> str:
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(each, signal.SIG_IGN)
    time.sleep(15)
    return "was not ended"


@attempt
def too_loud(marks: Marks) -> str:
    for _ in range(4000):
        os.write(1, b"x" * 65_535 + b"\n")
    return "was not ended"


@attempt
def too_loud_on_errors(marks: Marks) -> str:
    for _ in range(4000):
        os.write(2, b"x" * 65_535 + b"\n")
    return "was not ended"


@attempt
def left_child(marks: Marks) -> str:
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", _SLEEP, marks.variable])
    return "left one; see outside"


@attempt
def left_daemon(marks: Marks) -> str:
    """Away from its group, its session and its parent, and deaf."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            for each in (0, 1, 2):
                os.dup2(os.open("/dev/null", os.O_RDWR), each)
            os.execv(sys.executable, [sys.executable, "-c", _SLEEP, marks.variable])
        os._exit(0)
    os.waitpid(child, 0)
    return "left one; see outside"


_SLEEP: Final = (
    "import signal, time\nfor each in (1, 2, 3, 15): signal.signal(each, 1)\ntime.sleep(60)"
)


def _touched(size: int) -> bytearray:
    kept = bytearray(0)
    while len(kept) < size:
        kept += b"x" * _STEP
    return kept


def _waited() -> str:
    """For whoever looks only now and then."""
    time.sleep(3)
    return "had more than it may"
