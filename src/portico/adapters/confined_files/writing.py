"""A file written as a whole or not at all, and folders made on the way to it."""

import os
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from portico.adapters.confined_files.opening import Opening, closing_descriptor
from portico.adapters.confined_files.reading import judge

_NEW_FILE: Final = 0o644
_NEW_FOLDER: Final = 0o755
_PERMISSIONS: Final = 0o777


def replace_file(parent: int, name: str, content: bytes, owner: os.stat_result) -> None:
    """Under a name of its own first, in the same folder, then in the place of what was there,
    whose permissions it keeps. Raises `OSError`."""
    permissions = _permissions_of(parent, name)
    beside = f".{secrets.token_hex(8)}.part"
    # 0600 until it is whole
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    opened = os.open(beside, flags, 0o600, dir_fd=parent)
    try:
        with closing_descriptor(opened):
            _write_all(opened, content)
            _hand_over(opened, owner)
            os.fchmod(opened, permissions)
            os.fsync(opened)
        os.rename(beside, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=parent)
        raise
    _keep(parent)


def made_folder(opening: Opening, root: int, names: Sequence[str]) -> int:
    """Its descriptor; those on the way are made where they are missing. Raises `OSError`."""
    try:
        return opening.folder(root, names)
    except FileNotFoundError:
        if not names:
            raise
    with closing_descriptor(made_folder(opening, root, names[:-1])) as parent:
        _make(parent, names[-1], os.fstat(root))
    return opening.folder(root, names)


def _make(parent: int, name: str, owner: os.stat_result) -> None:
    try:
        os.mkdir(name, _NEW_FOLDER, dir_fd=parent)
    except FileExistsError:  # somebody else was faster, or it is no folder, which shows next
        return
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with closing_descriptor(os.open(name, flags, dir_fd=parent)) as made:
        _hand_over(made, owner)
    _keep(parent)


def _permissions_of(parent: int, name: str) -> int:
    try:
        there = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return _NEW_FILE
    judge(there)
    return stat.S_IMODE(there.st_mode) & _PERMISSIONS


def _write_all(opened: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(opened, rest) :]


def _hand_over(opened: int, owner: os.stat_result) -> None:
    """Written by root, for whoever the folder belongs to: what runs in the box is not root."""
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.fchown(opened, owner.st_uid, owner.st_gid)


def _keep(folder: int) -> None:
    """A name outlives a power cut only when its folder was written too."""
    with closing_descriptor(os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)) as readable:
        os.fsync(readable)
