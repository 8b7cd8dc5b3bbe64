"""A place of its own for a benchmark, gone when it is done."""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_home() -> Iterator[Path]:
    """A folder that the database's account can come to, should we be root."""
    root = os.geteuid() == 0
    folder = Path(tempfile.mkdtemp(prefix="portico-bench-", dir="/var/tmp" if root else None))  # noqa: S108 # fresh, by mkdtemp
    folder.chmod(0o711 if root else 0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
