"""One reader of one or more topics: a position in each of them, and nothing that piles up."""

import asyncio
from collections.abc import Iterable
from typing import Final

from portico.engine.core.cursor import Positions
from portico.engine.core.errors import TopicNotFound
from portico.engine.core.ring import Stretch
from portico.engine.cursors import Cursors
from portico.engine.ports import Wording
from portico.engine.tail import Tail

_NOTHING: Final = Stretch((), b"", 0)


class Follower:
    """Where a subscription stands in one tail."""

    def __init__(self, tail: Tail, position: int, subscription: "Subscription") -> None:
        self.tail = tail
        self.behind = False
        """There is more to take at once."""
        self.trimmed = False
        """Between what it took last and what it took before, something may be missing."""
        self._subscription = subscription
        self._covered = position
        """Past hidden entries too, so that nothing which is told may depend on it."""
        self._place: int | None = None
        self._told_of: int | None = None

    def stir(self) -> None:
        self._subscription.stir(self)

    async def take(self) -> Stretch:
        """Raises `StoreUnavailable`."""
        ring = self.tail.ring
        self.behind = self.trimmed = False
        if ring is None:
            return _NOTHING
        if self._place is None or not ring.holds(self._place):
            self._place = ring.place(self._covered)
            self._check(self.tail.first)
        if self._place is None:
            return await self._from_log()
        stretch = ring.since(self._place)
        self._place = stretch.end
        self.behind = stretch.end < ring.end
        if stretch.pieces:
            self._covered = stretch.pieces[-1].position
        return stretch

    async def _from_log(self) -> Stretch:
        """Behind what the ring holds; or before its end, of which the tail will hear yet."""
        try:
            page, stretch = await self.tail.page(self._covered)
        except TopicNotFound:
            return _NOTHING
        self._check(page.first)
        if page.position < self._covered:  # it was removed, and has begun anew
            self.trimmed = True
            self._subscription.positions[self.tail.topic] = 0
        self.behind = page.position != self._covered
        self._covered = page.position
        return stretch

    def _check(self, first: int) -> None:
        """Whether the entry that was shown last is gone; told of each once."""
        shown = self._subscription.positions[self.tail.topic]
        if 0 < shown < first and self._told_of != shown:
            self.trimmed, self._told_of = True, shown


class Subscription:
    def __init__(self, positions: Positions, cursors: Cursors, wording: Wording) -> None:
        self.positions = dict(positions)
        """The last entry that was handed out of each topic."""
        self.last: str | None = None
        """The type of the last entry that was handed out."""
        self._cursors = cursors
        self._wording = wording
        self._tails: list[Tail] = []
        self._restless: dict[Follower, None] = {}
        self._stirred = asyncio.Event()

    def follow(self, tails: Iterable[Tail]) -> list[Follower]:
        self._tails = list(tails)
        followers = [Follower(tail, self.positions[tail.topic], self) for tail in self._tails]
        for follower in followers:
            follower.tail.followers.add(follower)
            self._restless[follower] = None
        return followers

    @property
    def broken(self) -> bool:
        """Nothing comes any more; who comes again goes on."""
        return any(tail.broken for tail in self._tails)

    def stir(self, follower: Follower | None = None) -> None:
        """Whoever waits in `stirred` looks again: at what this follower has, or around."""
        if follower is not None:
            self._restless[follower] = None
        self._stirred.set()

    async def stirred(self) -> None:
        await self._stirred.wait()
        self._stirred.clear()

    async def more(self) -> bytes:
        """What is to be sent next; empty when there is nothing for now.

        Raises `StoreUnavailable`.
        """
        while self._restless:
            follower = next(iter(self._restless))
            del self._restless[follower]
            stretch = await follower.take()
            if follower.behind:
                self._restless[follower] = None
            told = self._told(follower, stretch)
            if told:
                return told
        return b""

    def _told(self, follower: Follower, stretch: Stretch) -> bytes:
        topic = follower.tail.topic
        told = [self._wording.trimmed(topic)] if follower.trimmed else []
        if len(self._tails) == 1:
            told.append(stretch.marked)
        for piece in stretch.pieces:
            if piece.type is not None:
                self.positions[topic], self.last = piece.position, piece.type
            if len(self._tails) > 1:
                mark = piece.type is not None
                told.append(self._marked(piece.told) if mark else piece.told)
        return b"".join(told)

    def _marked(self, told: bytes) -> bytes:
        return self._wording.marked(self._cursors.text(self.positions), told)
