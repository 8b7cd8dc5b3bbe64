"""Calls that wait for an answer of their callers: not for ever, and not too many."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from portico.interfaces.mcp.conversation import Conversation
from portico.interfaces.mcp.errors import NoSuchQuestion, TooManyWaiting

_PATIENCE: Final = 300.0
"""Seconds; a person may have to think."""
_MOST: Final = 1_000
_MOST_OF_ONE: Final = 32


@dataclass(slots=True)
class Waiting:
    patience: float = _PATIENCE
    most: int = _MOST
    most_of_one: int = _MOST_OF_ONE
    _held: dict[str, tuple[Conversation, asyncio.TimerHandle]] = field(default_factory=dict)
    _of: Counter[object] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, conversation: Conversation) -> str:
        """Gives what its caller has to show. Raises `TooManyWaiting`, and has ended the call."""
        if len(self._held) >= self.most or self._of[conversation.owner] >= self.most_of_one:
            conversation.end()
            raise TooManyWaiting
        state = secrets.token_urlsafe(32)
        loop = asyncio.get_running_loop()
        self._held[state] = (conversation, loop.call_later(self.patience, self._expire, state))
        self._of[conversation.owner] += 1
        conversation.left_alone()
        return state

    def take(self, state: str, owner: object, same: object) -> Conversation:
        """Once. Raises `NoSuchQuestion`, also to whoever it does not belong to."""
        held = self._held.get(state)
        if held is None or held[0].owner != owner or held[0].same != same:
            raise NoSuchQuestion
        return self._let_go(state)

    @contextmanager
    def open(self) -> Iterator[None]:
        """At the end nobody can answer any more."""
        try:
            yield
        finally:
            for state in list(self._held):
                self._expire(state)

    def _expire(self, state: str) -> None:
        self._let_go(state).end()

    def _let_go(self, state: str) -> Conversation:
        conversation, timer = self._held.pop(state)
        timer.cancel()
        self._of[conversation.owner] -= 1
        if not self._of[conversation.owner]:
            del self._of[conversation.owner]
        return conversation
