"""How much what runs in a box may use."""

from dataclasses import dataclass

_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    seconds: float | None = None
    """From its start to its end; None for what runs until it is ended, such as a server."""
    memory: int = 2_000 * _MEGABYTE
    """Bytes, of all its processes together."""
    processes: int = 256
    """At once, threads among them."""
    file_size: int = 1_000 * _MEGABYTE
    """Bytes of one file."""
    open_files: int = 1024
    output: int | None = None
    """Bytes of what it writes, both streams together; None where somebody else counts."""
    scratch: int = 256 * _MEGABYTE
    """Bytes of its own /tmp."""
