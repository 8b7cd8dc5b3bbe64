"""A key that was looked at a moment ago is known for a second: a call a millisecond is not a
query a millisecond."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from time import monotonic
from typing import Final

from portico.guard.authentication import Entry

_KNOWN: Final = 1.0
"""Seconds: for so long, and no longer, a key still opens after it was revoked, whichever process
revoked it. A message over the bus could be late or lost; a clock cannot."""
_LOOK_AGAIN: Final = 0.5
"""From here on whoever comes first looks again, so that the others do not all wait for it."""
_MOST: Final = 10_000


@dataclass(slots=True)
class _Known:
    entry: Entry
    at: float
    looking: bool = False


@dataclass(slots=True)
class RememberedKeys:
    authenticate: Callable[[str], Awaitable[Entry]]
    now: Callable[[], float] = monotonic
    _known: OrderedDict[bytes, _Known] = field(default_factory=OrderedDict)
    """By the hash of the key: no key lies about in memory."""

    async def __call__(self, shown: str) -> Entry:
        """Raises `NotAuthenticated`; whoever was refused is looked at anew each time."""
        name = sha256(shown.encode(errors="replace")).digest()
        known = self._known.get(name)
        if known is None or not self._good(known):
            return await self._look(name, shown)
        if self.now() - known.at >= _LOOK_AGAIN and not known.looking:
            known.looking = True
            return await self._look(name, shown)
        return known.entry

    def _good(self, known: _Known) -> bool:
        return self.now() - known.at < _KNOWN

    async def _look(self, name: bytes, shown: str) -> Entry:
        at = self.now()
        try:
            entry = await self.authenticate(shown)
        except BaseException:
            self._known.pop(name, None)
            raise
        self._known[name] = _Known(entry, at)
        self._known.move_to_end(name)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return entry
