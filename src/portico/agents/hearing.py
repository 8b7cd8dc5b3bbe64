"""What is heard of an answer: piece by piece, and no more than was reserved for it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from portico.agents.core.asking import (
    ArgumentsPiece,
    CallPiece,
    Piece,
    Reply,
    TextPiece,
    ThoughtPiece,
)
from portico.agents.core.compaction import A_CALL
from portico.agents.core.message import ToolCall
from portico.agents.ports import Speaking
from portico.kernel.clock import Clock
from portico.kernel.tokens import Tokenizer

_LONG: Final = 400
"""Characters; what is longer is counted once and for all, up to its last blank."""


@dataclass(slots=True)
class _Growing:
    """A text that comes in pieces, counted as the whole that it is."""

    tokenizer: Tokenizer
    parts: list[str] = field(default_factory=list)
    tokens: int = 0
    _counted: int = 0
    _tail: str = ""

    def with_piece(self, piece: str) -> int:
        """How many tokens there would be with it."""
        return self._counted + self.tokenizer.count(self._tail + piece)

    def add(self, piece: str, tokens: int) -> None:
        self.parts.append(piece)
        self.tokens = tokens
        self._tail += piece
        if len(self._tail) > _LONG:
            end = self._tail.rfind(" ") + 1 or len(self._tail)
            self._counted += self.tokenizer.count(self._tail[:end])
            self._tail = self._tail[end:]

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(slots=True, kw_only=True)
class Hearing:
    most: int
    """Tokens by our count that are taken in; what is more than that is not."""
    tokenizer: Tokenizer
    clock: Clock
    speaking: Speaking
    called: Callable[[int, ToolCall], None]
    """Told of each call as it has come in whole, with its place."""
    first_at: datetime | None = None
    reply: Reply | None = None
    cut: bool = False
    """More was said than there was room for."""
    late: bool = False
    """Nothing more came in the time there was."""
    calls: list[ToolCall] = field(default_factory=list)
    said: _Growing = field(init=False)
    thought: _Growing = field(init=False)
    _asked: int = 0
    """Tokens of the calls."""
    _coming: dict[str, _Growing] = field(default_factory=dict)
    """Of calls that are not whole yet, their arguments, by their ids."""
    _whole: int = 0
    """Tokens of the reply, where not all of it came in pieces."""

    def __post_init__(self) -> None:
        self.said, self.thought = _Growing(self.tokenizer), _Growing(self.tokenizer)

    @property
    def begun(self) -> bool:
        return self.first_at is not None

    @property
    def read(self) -> int:
        """Tokens."""
        coming = sum(each.tokens for each in self._coming.values())
        return max(self.said.tokens + self.thought.tokens + self._asked + coming, self._whole)

    def take(self, piece: Piece) -> bool:
        """Whether to go on listening."""
        if not isinstance(piece, Reply) and self.first_at is None:
            self.first_at = self.clock.now()
        match piece:
            case TextPiece(text):
                self._grow(self.said, text, self.speaking.add)
            case ThoughtPiece(text):
                self._grow(self.thought, text, self.speaking.think)
            case ArgumentsPiece(call=call, text=text):
                coming = self._coming.setdefault(call, _Growing(self.tokenizer))
                self._grow(coming, text, _unspoken)
            case CallPiece(call):
                self._call(call)
            case Reply():
                self._ended(piece)
        return not self.cut and self.reply is None

    def _grow(self, growing: _Growing, piece: str, speak: Callable[[str], None]) -> None:
        tokens = growing.with_piece(piece)
        if self._paid(tokens - growing.tokens):
            growing.add(piece, tokens)
            speak(piece)

    def _call(self, call: ToolCall) -> None:
        size = self._size(call)
        self._coming.pop(call.id, None)
        if self._paid(size):
            self._asked += size
            self.calls.append(call)
            self.called(len(self.calls) - 1, call)

    def _ended(self, reply: Reply) -> None:
        """What came in pieces is not paid for again; what did not is."""
        whole = (
            self.tokenizer.count(reply.text)
            + self.tokenizer.count(reply.thought)
            + sum(self._size(call) for call in reply.calls)
        )
        if whole > self.most:
            self.cut = True
            return
        self._whole = whole
        self.reply = reply

    def _paid(self, tokens: int) -> bool:
        self.cut = self.read + tokens > self.most
        return not self.cut

    def _size(self, call: ToolCall) -> int:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        return self.tokenizer.count(call.name) + self.tokenizer.count(arguments) + A_CALL


def _unspoken(_piece: str) -> None:
    pass
