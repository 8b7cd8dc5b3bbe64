"""Files that somebody else names: opened without waiting, and read only if they are ordinary."""

import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

_OF_THE_KERNEL: Final = (Path("/proc"), Path("/sys"))
"""What looks like a file there is this process's own environment and memory, or another's."""


class NotOrdinary(Exception):
    """A pipe, a device, a folder, or something that the kernel makes up."""


def opened(file: Path) -> BinaryIO:
    """Raises `NotOrdinary`, `OSError`."""
    # A pipe that nobody writes to would be waited for.
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    try:
        _check_ordinary(os.fstat(handle))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _check_ordinary(state: os.stat_result) -> None:
    kernel = {each.stat().st_dev for each in _OF_THE_KERNEL if each.is_mount()}
    if not stat.S_ISREG(state.st_mode) or state.st_dev in kernel:
        raise NotOrdinary
