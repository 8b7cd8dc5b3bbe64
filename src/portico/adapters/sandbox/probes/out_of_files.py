"""Attempts at files that were not granted: by their paths, by links, by what is around them."""

import ctypes
import os
import shutil
import stat
import struct
import subprocess
from contextlib import suppress

from portico.adapters.sandbox.probes.trying import CANARY, Held, Marks, attempt, kernel, read

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
