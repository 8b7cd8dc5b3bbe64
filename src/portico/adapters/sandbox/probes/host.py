"""Attempts at the machine outside: its files, its processes, its network."""

import base64
import ctypes
import os
import re
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
from contextlib import suppress
from typing import Final

from portico.adapters.sandbox.probes.runtime import (
    CANARY,
    Held,
    Marks,
    attempt,
    found,
    kernel,
    read,
)

_HERE, _FOLLOW = -100, 0x400


@attempt
def read_by_path(marks: Marks) -> str:
    return read(f"{marks.outside}/secret")


@attempt
def read_by_dots(marks: Marks) -> str:
    up = os.path.relpath(f"{marks.outside}/secret", marks.workspace)
    return read(f"{marks.workspace}/{up}")


@attempt
def read_by_planted_link(marks: Marks) -> str:
    return read(f"{marks.workspace}/planted")


@attempt
def read_by_own_link(marks: Marks) -> str:
    link = _fresh(marks, "own-link")
    os.symlink(f"{marks.outside}/secret", link)
    return read(link)


@attempt
def read_by_hard_link(marks: Marks) -> str:
    link = _fresh(marks, "hard-link")
    os.link(f"{marks.outside}/secret", link)
    return read(link)


@attempt
def read_by_linked_descriptor(marks: Marks) -> str:
    """A descriptor that may do nothing is had of any file; its name can be linked."""
    link = _fresh(marks, "linked")
    descriptor = os.open(f"{marks.outside}/secret", os.O_PATH)
    library = ctypes.CDLL(None, use_errno=True)
    name = f"/proc/self/fd/{descriptor}".encode()
    if library.linkat(_HERE, name, _HERE, link.encode(), _FOLLOW) < 0:
        raise OSError(ctypes.get_errno(), "linkat")
    return read(link)


@attempt
def read_by_reopening(marks: Marks) -> str:
    return read(f"/proc/self/fd/{os.open(f'{marks.outside}/secret', os.O_PATH)}")


@attempt
def read_by_moving(marks: Marks) -> str:
    here, there = _fresh(marks, "moved"), f"{marks.outside}/movable"
    os.rename(there, here)
    os.rename(here, there)
    return "moved it here"


@attempt
def read_by_mounted_root(marks: Marks) -> str:
    return read(f"/proc/self/root{marks.outside}/secret")


@attempt
def write_by_path(marks: Marks) -> str:
    return _write(f"{marks.outside}/left-by-path")


@attempt
def write_by_dots(marks: Marks) -> str:
    up = os.path.relpath(marks.outside, marks.workspace)
    return _write(f"{marks.workspace}/{up}/left-by-dots")


@attempt
def write_by_planted_link(marks: Marks) -> str:
    return _write(f"{marks.workspace}/planted-folder/left-by-link")


@attempt
def overwrite_outside(marks: Marks) -> str:
    with open(f"{marks.outside}/writable", "r+b") as file:
        file.write(CANARY.encode())
    return "wrote over it"


@attempt
def truncate_outside(marks: Marks) -> str:
    os.truncate(f"{marks.outside}/writable", 3)
    return "cut it off"


@attempt
def remove_outside(marks: Marks) -> str:
    os.unlink(f"{marks.outside}/removable")
    return "removed it"


@attempt
def list_outside(marks: Marks) -> str:
    return f"saw {len(os.listdir(marks.outside))} names"


@attempt
def see_outside(marks: Marks) -> str:
    return f"it has {os.stat(f'{marks.outside}/secret').st_size} bytes"


@attempt
def change_mode_outside(marks: Marks) -> str:
    os.chmod(f"{marks.outside}/writable", 0o666)
    return "anybody may write it now"


@attempt
def change_mode_of_given(marks: Marks) -> str:
    """Of a file that may be read, by a descriptor of it."""
    descriptor = os.open(f"{marks.given}/file", os.O_RDONLY)
    os.fchmod(descriptor, 0o666)
    return "anybody may write it now"


@attempt
def change_time_outside(marks: Marks) -> str:
    os.utime(f"{marks.outside}/writable", (1, 1))
    return "changed when it was written"


@attempt
def watch_outside(marks: Marks) -> str:
    library = ctypes.CDLL(None, use_errno=True)
    watcher = kernel("inotify_init1", 0)
    if library.inotify_add_watch(watcher, marks.outside.encode(), 0xFFF) < 0:
        raise OSError(ctypes.get_errno(), "watch")
    return "is told of what happens there"


@attempt
def run_outside(marks: Marks) -> str:
    done = subprocess.run([f"{marks.outside}/program"], capture_output=True, check=False)
    if CANARY.encode() not in done.stdout:
        raise Held("it did not run")
    return "ran it"


@attempt
def run_by_descriptor(marks: Marks) -> str:
    descriptor = os.open(f"{marks.outside}/program", os.O_PATH)
    os.set_inheritable(descriptor, True)  # noqa: FBT003 # its only argument
    child = os.fork()
    if child == 0:
        try:
            os.execve(descriptor, ["program"], {})
        except OSError as error:
            os._exit(error.errno or 255)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 0:
        raise OSError(code, "exec")
    return "ran it"


@attempt
def read_shadow(marks: Marks) -> str:
    with open("/etc/shadow", encoding="utf-8") as file:
        if ":" not in file.read():
            raise Held("it is empty")
    return "read it"


@attempt
def home_folder(marks: Marks) -> str:
    seen = set(os.listdir(marks.home)) & set(marks.home_names)
    if not seen:
        raise Held("nothing of it is there")
    return f"saw {len(seen)} of its names"


@attempt
def ssh_keys(marks: Marks) -> str:
    for folder in (f"{marks.home}/.ssh", f"{marks.outside}/.ssh"):
        with suppress(OSError):
            for name in os.listdir(folder):
                with open(f"{folder}/{name}", "rb") as file:
                    file.read(10)
                return f"read {name}"
    raise Held("there are none")


@attempt
def data_folder(marks: Marks) -> str:
    names = os.listdir(marks.data)
    if not names:
        raise Held("it is empty")
    return f"saw {len(names)} names"


@attempt
def password_file(marks: Marks) -> str:
    return read(f"{marks.data}/postgres/password")


@attempt
def key_file(marks: Marks) -> str:
    return read(f"{marks.data}/key")


@attempt
def home_of_another_server(marks: Marks) -> str:
    return read(f"{marks.data}/servers/another/token")


@attempt
def shared_temporary_files(marks: Marks) -> str:
    for path in marks.temporary:
        with suppress(OSError):
            return read(path)
    raise Held("none is there")


@attempt
def write_elsewhere(marks: Marks) -> str:
    """Not out of the box, but where its files would be counted by nobody."""
    for folder in ("/", "/etc", "/usr", "/var", "/run", "/opt", "/srv", "/home", "/dev"):
        with suppress(OSError):
            return f"{_write(f'{folder}/portico-probe', remove=True)} in {folder}"
    raise Held("nowhere")


@attempt
def leave_setuid_behind(marks: Marks) -> str:
    """A program that gives the rights of the box's account to whoever runs it outside."""
    for make in (_by_mode, _by_descriptor, _from_the_beginning):
        path = _fresh(marks, "setuid")
        with suppress(OSError):
            make(path)
            if os.stat(path).st_mode & stat.S_ISUID:
                return f"made one {make.__name__.strip('_').replace('_', ' ')}"
    raise Held("it could not be made so")


def _by_mode(path: str) -> None:
    _write(path)
    os.chmod(path, 0o4755)


def _by_descriptor(path: str) -> None:
    with open(path, "xb") as file:
        os.fchmod(file.fileno(), 0o4755)


def _from_the_beginning(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755))


@attempt
def make_device(marks: Marks) -> str:
    path = _fresh(marks, "device")
    os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(7, 0))
    os.unlink(path)
    return "made one"


@attempt
def open_disk(marks: Marks) -> str:
    for device in marks.devices:
        with suppress(OSError), open(device, "rb"):
            return f"opened {device}"
    raise Held("none can be opened")


@attempt
def kernel_memory(marks: Marks) -> str:
    for path in ("/proc/kcore", "/dev/mem"):
        with suppress(OSError), open(path, "rb"):
            return f"opened {path}"
    raise Held("none can be opened")


@attempt
def kernel_settings(marks: Marks) -> str:
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
    return "could be written"


@attempt
def system_requests(marks: Marks) -> str:
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))
    return "could be written"


@attempt
def hardware_folder(marks: Marks) -> str:
    if not os.listdir("/sys/kernel"):
        raise Held("it is empty")
    return "saw it"


@attempt
def read_by_handle(marks: Marks) -> str:
    """By the number of a file, which needs no path: any that is not refused would do."""
    folder = os.open(marks.workspace, os.O_RDONLY)
    handle = struct.pack("Ii", 8, 1) + bytes(8)
    try:
        kernel("open_by_handle_at", folder, handle, os.O_RDONLY)
    except OSError as error:
        if error.errno in (1, 13, 38):
            raise
        return "it answers"
    return "opened it"


def _fresh(marks: Marks, name: str) -> str:
    path = f"{marks.workspace}/{name}"
    with suppress(OSError):
        os.unlink(path)
    with suppress(OSError):
        shutil.rmtree(path)
    return path


def _write(path: str, *, remove: bool = False) -> str:
    with open(path, "xb") as file:
        file.write(CANARY.encode())
    if remove:
        os.unlink(path)
    return "wrote a file"


_ATTACH, _DETACH = 16, 17
_NO_ACCOUNT: Final = 54_321


@attempt
def process_list(marks: Marks) -> str:
    if str(marks.process) not in os.listdir("/proc") or not _is_outside(marks):
        raise Held("it is not among them")
    return "saw that it runs"


@attempt
def guess_process(marks: Marks) -> str:
    os.getsid(marks.process)
    return _if_outside(marks, "learnt that it runs")


@attempt
def process_arguments(marks: Marks) -> str:
    with open(f"/proc/{marks.process}/cmdline", "rb") as file:
        if CANARY.encode() not in file.read():
            raise Held("another has its number")
    return "read what it was started with"


@attempt
def process_environment(marks: Marks) -> str:
    return _environment(marks, f"/proc/{marks.process}/environ")


@attempt
def process_folder(marks: Marks) -> str:
    return read(f"/proc/{marks.process}/cwd/secret")


@attempt
def process_root(marks: Marks) -> str:
    return read(f"/proc/{marks.process}/root{marks.outside}/secret")


@attempt
def process_files(marks: Marks) -> str:
    folder = f"/proc/{marks.process}/fd"
    for name in os.listdir(folder):
        with suppress(OSError, Held):
            return read(f"{folder}/{name}")
    raise Held("none of them is it")


@attempt
def process_memory(marks: Marks) -> str:
    with open(f"/proc/{marks.process}/mem", "rb"):
        return _if_outside(marks, "opened it")


@attempt
def process_map(marks: Marks) -> str:
    with open(f"/proc/{marks.process}/maps", "rb") as file:
        if not file.read(10):
            raise Held("it is empty")
    return _if_outside(marks, "read it")


@attempt
def first_environment(marks: Marks) -> str:
    """Of whatever set the box up, and of whatever started that."""
    for number in {1, os.getppid(), _parent(os.getppid())}:
        with suppress(OSError, Held):
            return _environment(marks, f"/proc/{number}/environ")
    raise Held("it is in none")


@attempt
def first_root(marks: Marks) -> str:
    return read(f"/proc/1/root{marks.outside}/secret")


@attempt
def own_environment(marks: Marks) -> str:
    if marks.variable not in os.environ:
        raise Held("it is not in it")
    return "found the key"


@attempt
def inherited_descriptors(marks: Marks) -> str:
    """Beside the three that everybody has."""
    more = [number for number in _OPEN_AT_FIRST if number > 2]
    if not more:
        raise Held("none")
    return f"{len(more)} more: {', '.join(map(_described, more))}"[:200]


@attempt
def signal_process(marks: Marks) -> str:
    os.kill(marks.process, signal.SIGCONT)
    return _if_outside(marks, "it can be signalled")


@attempt
def signal_by_descriptor(marks: Marks) -> str:
    kernel("pidfd_send_signal", os.pidfd_open(marks.process), signal.SIGCONT, None, 0)
    return _if_outside(marks, "it can be signalled")


@attempt
def signal_keeper(marks: Marks) -> str:
    """The one that would end us, should we not end: it must not be ended before."""
    ancestor = _parent(os.getppid())
    if ancestor == 0:
        raise Held("it is not to be seen")
    os.kill(ancestor, signal.SIGCONT)
    return "it can be signalled"


@attempt
def keeper_files(marks: Marks) -> str:
    folder = f"/proc/{_parent(os.getppid()) or 1}/fd"
    for name in os.listdir(folder):
        with suppress(OSError):
            os.close(os.open(f"{folder}/{name}", os.O_RDONLY | os.O_NONBLOCK))
            return f"opened {os.readlink(f'{folder}/{name}')}"
    raise Held("none can be opened")


@attempt
def trace_process(marks: Marks) -> str:
    kernel("ptrace", _ATTACH, marks.process, 0, 0)
    os.waitpid(marks.process, 0)
    kernel("ptrace", _DETACH, marks.process, 0, 0)
    return _if_outside(marks, "attached to it")


@attempt
def read_process_memory(marks: Marks) -> str:
    with open(f"/proc/{marks.process}/maps", encoding="ascii") as file:
        start = int(file.readline().split("-")[0], 16)
    room = ctypes.create_string_buffer(16)
    here = struct.pack("QQ", ctypes.addressof(room), 16)
    kernel("process_vm_readv", marks.process, here, 1, struct.pack("QQ", start, 16), 1, 0)
    return _if_outside(marks, "read it")


@attempt
def take_descriptor(marks: Marks) -> str:
    process = os.pidfd_open(marks.process)
    for number in range(3, 16):
        with suppress(OSError, Held):
            taken = kernel("pidfd_getfd", process, number, 0)
            return found(os.pread(taken, 200, 0))
    raise Held("none could be taken")


@attempt
def limit_process(marks: Marks) -> str:
    now = resource.prlimit(marks.process, resource.RLIMIT_CORE)
    resource.prlimit(marks.process, resource.RLIMIT_CORE, now)
    return _if_outside(marks, "its limits can be set")


@attempt
def slow_process(marks: Marks) -> str:
    now = os.getpriority(os.PRIO_PROCESS, marks.process)
    os.setpriority(os.PRIO_PROCESS, marks.process, now)
    return _if_outside(marks, "its priority can be set")


@attempt
def slow_account(marks: Marks) -> str:
    """All processes of an account, whoever sees them. Asked of one that has none: it would be
    done to everybody."""
    with suppress(ProcessLookupError):
        os.setpriority(os.PRIO_USER, _NO_ACCOUNT, 0)
    os.getsid(marks.process)
    return _if_outside(marks, "their priority can be set")


@attempt
def confine_process(marks: Marks) -> str:
    os.sched_setaffinity(marks.process, os.sched_getaffinity(marks.process))
    return _if_outside(marks, "its cores can be set")


@attempt
def shared_segment(marks: Marks) -> str:
    library = ctypes.CDLL(None, use_errno=True)
    library.shmat.restype = ctypes.c_void_p
    segment = kernel("shmget", marks.memory_key, 0, 0)
    address = library.shmat(segment, None, 0o10000)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "shmat")
    return found(ctypes.string_at(address, 64))


@attempt
def message_queue(marks: Marks) -> str:
    os.close(kernel("mq_open", marks.queue.encode(), os.O_RDWR, 0, None))
    return "opened it"


def _environment(marks: Marks, path: str) -> str:
    with open(path, "rb") as file:
        if f"{marks.variable}=".encode() not in file.read():
            raise Held("it is not in it")
    return "read the key"


def _is_outside(marks: Marks) -> bool:
    with open(f"/proc/{marks.process}/stat", "rb") as file:
        return file.read().rsplit(b")", 1)[1].split()[19].decode() == marks.process_started


def _if_outside(marks: Marks, reached: str) -> str:
    with suppress(OSError):
        if not _is_outside(marks):
            raise Held("another has its number")
    return reached


def _parent(number: int) -> int:
    try:
        with open(f"/proc/{number}/stat", "rb") as file:
            return int(file.read().rsplit(b")", 1)[1].split()[1])
    except OSError:
        return 0


def _open_ones() -> list[int]:
    opened = []
    for number in range(4096):
        with suppress(OSError):
            os.fstat(number)
            opened.append(number)
    return opened


_OPEN_AT_FIRST: Final = _open_ones()


def _described(number: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return str(number)


_PATIENCE: Final = 1.0
_MPTCP, _SCTP = 262, 132
_FAST_OPEN: Final = 0x20000000
_QUESTION: Final = b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01"
"""Who serves the root of all names."""


@attempt
def loopback(marks: Marks) -> str:
    return _tcp(socket.AF_INET, ("127.0.0.1", marks.tcp))


@attempt
def loopback_of_ipv6(marks: Marks) -> str:
    return _tcp(socket.AF_INET6, ("::1", marks.tcp6))


@attempt
def loopback_as_mapped(marks: Marks) -> str:
    return _tcp(socket.AF_INET6, ("::ffff:127.0.0.1", marks.tcp))


@attempt
def loopback_as_nowhere(marks: Marks) -> str:
    return _tcp(socket.AF_INET, ("0.0.0.0", marks.tcp))  # reached, not offered


@attempt
def loopback_by_many_paths(marks: Marks) -> str:
    """MPTCP, which rules about TCP do not mean."""
    return _tcp(socket.AF_INET, ("127.0.0.1", marks.tcp), protocol=_MPTCP)


@attempt
def loopback_by_fast_open(marks: Marks) -> str:
    """Connects without connecting: by sending."""
    with socket.socket(socket.AF_INET) as open_one:
        for each in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            open_one.setsockopt(socket.SOL_SOCKET, each, struct.pack("ll", 1, 0))
        open_one.sendto(b"x", _FAST_OPEN, ("127.0.0.1", marks.tcp))
        return found(open_one.recv(100))


@attempt
def loopback_by_datagram(marks: Marks) -> str:
    return found(_datagram("127.0.0.1", marks.udp, b"x"))


@attempt
def own_address(marks: Marks) -> str:
    return _tcp(socket.AF_INET, (marks.own_address, marks.tcp))


@attempt
def way_to_metadata(marks: Marks) -> str:
    return _way("169.254.169.254", 80)


@attempt
def way_to_internet(marks: Marks) -> str:
    return _way("198.51.100.1", 443)


@attempt
def way_to_names(marks: Marks) -> str:
    """To whoever answers what the address of a name is."""
    if not marks.names.startswith("127."):
        return _way(marks.names, 53)
    return f"{len(_datagram(marks.names, 53, _QUESTION))} bytes came back"


@attempt
def listen_outside(marks: Marks) -> str:
    """Reached only if those outside can come in: a network of its own is no harm."""
    for bound in (True, False):
        with suppress(OSError), socket.socket(socket.AF_INET) as open_one:
            if bound:
                open_one.bind(("127.0.0.1", 0))
            open_one.listen(1)
            _refuse_own_network(marks)
            return "listens" if bound else "listens, without having asked for a port"
    raise Held("neither with a port nor without")


@attempt
def abstract_socket(marks: Marks) -> str:
    with socket.socket(socket.AF_UNIX) as open_one:
        open_one.settimeout(_PATIENCE)
        open_one.connect(f"\0{marks.abstract}")
        return found(open_one.recv(100))


@attempt
def socket_by_path(marks: Marks) -> str:
    return _unix(f"{marks.outside}/socket")


@attempt
def socket_by_link(marks: Marks) -> str:
    return _unix(f"{marks.workspace}/planted-folder/socket")


@attempt
def database_socket(marks: Marks) -> str:
    return _unix(f"{marks.data}/postgres/.s.PGSQL.5432")


@attempt
def host_of_virtual_machine(marks: Marks) -> str:
    return _made(getattr(socket, "AF_VSOCK", 40), socket.SOCK_STREAM)


@attempt
def network_of_kernel(marks: Marks) -> str:
    """Netlink: reached if it tells of an interface beside its own loopback."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0):
        if len(socket.if_nameindex()) < 2:
            raise Held("there is nothing but its own")
    return "saw the interfaces"


@attempt
def raw_packets(marks: Marks) -> str:
    return _made(socket.AF_PACKET, socket.SOCK_RAW)


@attempt
def raw_addresses(marks: Marks) -> str:
    return _made(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@attempt
def ciphers_of_kernel(marks: Marks) -> str:
    return _made(socket.AF_ALG, socket.SOCK_SEQPACKET)


@attempt
def other_families(marks: Marks) -> str:
    """Seldom used, seldom looked at: X.25, RDS, TIPC, Bluetooth, XDP and their like."""
    for family in (3, 4, 5, 9, 21, 23, 30, 31, 35, 43, 44):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, 3):
            with suppress(OSError):
                return f"{_made(family, kind)} of family {family}"
    raise Held("none could be made")


@attempt
def loopback_by_other_streams(marks: Marks) -> str:
    return _tcp(socket.AF_INET, ("127.0.0.1", marks.tcp), protocol=_SCTP)


@attempt
def proxy_to_loopback(marks: Marks) -> str:
    return _through_proxy(f"127.0.0.1:{marks.tcp}")


@attempt
def proxy_to_own_address(marks: Marks) -> str:
    return _through_proxy(f"{marks.own_address}:{marks.tcp}")


@attempt
def proxy_to_mapped_address(marks: Marks) -> str:
    return _through_proxy(f"[::ffff:127.0.0.1]:{marks.tcp}")


@attempt
def proxy_to_metadata(marks: Marks) -> str:
    return _through_proxy("169.254.169.254:80")


@attempt
def proxy_to_local_name(marks: Marks) -> str:
    return _through_proxy(f"localhost:{marks.tcp}")


@attempt
def proxy_by_whole_address(marks: Marks) -> str:
    asked = f"GET http://127.0.0.1:{marks.tcp}/ HTTP/1.1\r\nHost: 127.0.0.1:{marks.tcp}\r\n"
    return _proxy_says(asked, wanted=CANARY.encode())


@attempt
def another_at_the_port_of_the_proxy(marks: Marks) -> str:
    """Past the proxy: somebody else may listen where its port is the same. That nobody does here
    is told by whoever was reached."""
    _refuse_own_network(marks)
    with socket.socket(socket.AF_INET) as open_one:
        open_one.settimeout(_PATIENCE)
        with suppress(ConnectionRefusedError):
            open_one.connect(("127.0.0.2", int(_proxy()[3])))
    return "there is a way"


@attempt
def socket_in_given_folder(marks: Marks) -> str:
    return _unix(f"{marks.given}/socket")


def _refuse_own_network(marks: Marks) -> None:
    """One that may not be looked at is not one of its own."""
    try:
        with open("/proc/net/tcp", encoding="ascii") as file:
            seen = file.read()
    except OSError:
        return
    if f":{marks.tcp:04X} " not in seen:
        raise Held("in a network of its own")


def _tcp(family: int, address: tuple[str, int], *, protocol: int = 0) -> str:
    with socket.socket(family, socket.SOCK_STREAM, protocol) as open_one:
        open_one.settimeout(_PATIENCE)
        open_one.connect(address)
        return found(open_one.recv(100))


def _datagram(address: str, port: int, content: bytes) -> bytes:
    """Connected, so that it is told at once if nobody is there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as open_one:
        open_one.settimeout(_PATIENCE)
        open_one.connect((address, port))
        open_one.send(content)
        return open_one.recv(100)


def _way(address: str, port: int) -> str:
    """Connecting a datagram socket sends nothing: it only looks for a way."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as open_one:
        open_one.connect((address, port))
    return "there is a way"


def _unix(path: str) -> str:
    """By way of its folder: the path itself may be longer than an address may be."""
    with socket.socket(socket.AF_UNIX) as open_one:
        open_one.settimeout(_PATIENCE)
        folder, name = os.path.split(path)
        open_one.connect(f"/proc/self/fd/{os.open(folder, os.O_PATH)}/{name}")
        return found(open_one.recv(100))


def _made(family: int, kind: int, protocol: int = 0) -> str:
    with socket.socket(family, kind, protocol):
        return "made a socket"


def _through_proxy(place: str) -> str:
    return _proxy_says(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n", wanted=b" 200 ")


def _proxy() -> re.Match[str]:
    """Its word, its address and its port."""
    address = os.environ.get("HTTP_PROXY") or os.environ.get("http_proxy")
    named = re.fullmatch(r"https?://(?:([^@]*)@)?([^:/]+):(\d+)/?", address or "")
    if named is None:
        raise LookupError("there is no proxy to ask")
    return named


def _proxy_says(asked: str, *, wanted: bytes) -> str:
    named = _proxy()
    shown = base64.b64encode((named[1] or "").encode()).decode()
    with socket.create_connection((named[2], int(named[3])), 5) as open_one:
        open_one.sendall(f"{asked}Proxy-Authorization: Basic {shown}\r\n\r\n".encode())
        said = b""
        with suppress(TimeoutError):
            while (more := open_one.recv(1000)) and len(said) < 10_000 and wanted not in said:
                said += more
    if not said:
        raise Held("it hung up")
    if wanted not in said + more:
        raise Held(said.split(b"\r\n")[0].decode(errors="replace")[:60])
    return "it leads there"
