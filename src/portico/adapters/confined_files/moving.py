"""Another name for a file or a folder, in the place of nothing that is there."""

import ctypes
import errno
import os
import platform
import stat
from typing import Final

_RENAMEAT2: Final = {"x86_64": 316, "aarch64": 276}
_NO_REPLACE: Final = 1
_NOT_OFFERED: Final = {errno.ENOSYS, errno.EINVAL, errno.EPERM}
"""By the kernel, by the file system, by a seccomp filter. `EINVAL` also stands for a folder that
is to be moved into itself, which the other way then refuses as well."""


def move_name(source: int, name: str, target: int, new_name: str) -> None:
    """Raises `OSError`, `FileExistsError` if the new name is taken."""
    try:
        rename_exclusively(source, name, target, new_name)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        move_by_hand(source, name, target, new_name)


def rename_exclusively(source: int, name: str, target: int, new_name: str) -> None:
    number = _RENAMEAT2.get(platform.machine())
    if platform.system() != "Linux" or number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    done: int = call(
        ctypes.c_long(number),
        ctypes.c_int(source),
        ctypes.c_char_p(os.fsencode(name)),
        ctypes.c_int(target),
        ctypes.c_char_p(os.fsencode(new_name)),
        ctypes.c_uint(_NO_REPLACE),
    )
    if done != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def move_by_hand(source: int, name: str, target: int, new_name: str) -> None:
    """Where there is no such call. A file gets its second name before it loses its first, and a
    folder takes the place of an empty one made for it: neither replaces what is there, but a
    crash between the two steps leaves both names, or the empty folder."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=source, follow_symlinks=False).st_mode):
        os.link(name, new_name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
        os.unlink(name, dir_fd=source)
        return
    os.mkdir(new_name, dir_fd=target)
    try:
        os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
    except OSError:
        os.rmdir(new_name, dir_fd=target)
        raise
