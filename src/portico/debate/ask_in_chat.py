"""Take a question of a chat program to the debate that answers it: one that is on, or another."""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Final, Protocol

from portico.debate.core.debate import Debate
from portico.debate.core.wish import DebateWish
from portico.debate.start_debate import StartedDebate
from portico.engine.core.errors import KeyReused
from portico.kernel.principal import Principal

_REPEATS: Final = 8
"""How often the same question is looked for among what was asked before. Whoever asks it more
often than this hears a new answer each time, and finds no debate of theirs by it."""


class Starting(Protocol):
    async def __call__(self, caller: Principal, wish: DebateWish) -> StartedDebate: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AskInChat:
    start_debate: Starting

    async def __call__(self, caller: Principal, wish: DebateWish, *, again: bool) -> Debate:
        """`again`: the program repeats itself, since it did not hear the answer. What is over has
        been heard otherwise: whoever asks the same then wants it debated anew. A program that
        names a key says itself what is the same. Raises what starting a debate raises."""
        if wish.key is not None:
            return (await self.start_debate(caller, wish)).debate
        key = _key(wish)
        for number in range(_REPEATS):
            try:
                started = await self.start_debate(caller, replace(wish, key=f"{key}-{number}"))
            except KeyReused:
                continue
            if not started.replayed or again or not started.debate.status.over:
                return started.debate
        return (await self.start_debate(caller, wish)).debate


def _key(wish: DebateWish) -> str:
    text = json.dumps([wish.preset, wish.question, wish.material])
    return f"chat-{hashlib.sha256(text.encode()).hexdigest()}"
