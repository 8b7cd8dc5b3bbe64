"""A line that runs stand in: how many go at once, and who takes turns with whom."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    name: str
    a_process: int | None = None
    """Most runs at once in one process."""
    everywhere: int | None = None
    """Most runs at once in all of them together."""
    a_partition: int | None = None
    """Most runs at once with the same partition key; each run must then have one."""
    look: timedelta = timedelta(milliseconds=200)
    """How often a process looks whether somebody stands there."""
