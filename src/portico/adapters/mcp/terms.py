"""On what terms servers are run: how many, how long, how much."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    processes: int = 32
    """At once, of all servers together."""
    idle: timedelta = timedelta(minutes=10)
    """After which a server that nobody calls is ended."""
    start: timedelta = timedelta(seconds=60)
    """In which a server has to greet."""
    look: timedelta = timedelta(seconds=60)
    """In which it has to list all that it offers."""
    wait: timedelta = timedelta(seconds=10)
    """For a place, while all processes are busy."""
    grace: timedelta = timedelta(seconds=2)
    """Between asking a process to end and making it."""
    settle: timedelta = timedelta(seconds=1)
    """From the first word of a change until it is looked at; there are mostly several."""
    largest: int = 16_000_000
    """Bytes of one message."""
    inherited: Sequence[str] = ()
    """Names of variables that every server is given of our own environment, beside the harmless."""
