"""Descriptors that are handed to a process, and are not left open here."""

import os
from collections.abc import Sequence
from contextlib import suppress


class Descriptors:
    """All that one box needs; closed once, whatever happens."""

    def __init__(self) -> None:
        self._open: list[int] = []

    @property
    def numbers(self) -> Sequence[int]:
        return tuple(self._open)

    def keep(self, descriptor: int) -> int:
        self._open.append(descriptor)
        return descriptor

    def file(self, name: str, content: bytes) -> int:
        """A file without a path, to be read from its beginning."""
        descriptor = self.keep(os.memfd_create(name))
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def close(self) -> None:
        while self._open:
            with suppress(OSError):
                os.close(self._open.pop())
