"""The machine's own clock and randomness."""

import secrets
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


def system_entropy(size: int, /) -> bytes:
    return secrets.token_bytes(size)
