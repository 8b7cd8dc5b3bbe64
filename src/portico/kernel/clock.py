"""Time as something handed in, so that a test can turn it."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present, in UTC, with its time zone."""
        ...
