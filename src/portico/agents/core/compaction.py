"""What is said in a run, made to fit into a model's window.

Every word of people stays. Old results of tools are shortened first, then old words of models; a
call and what it came to always stay together. What is left out is named where it stood.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.agents.core.asking import ToolShown
from portico.agents.core.message import Message, ModelSaid, ToolGave

Count = Callable[[str], int]
"""Tokens of a text."""
AsSent = Callable[[Message], Message]
"""What a message is made into for a model that cannot be sent it as it is."""

A_MESSAGE: Final = 8
"""Tokens that go with each, for who says it and where it ends."""
A_CALL: Final = 12
KEPT_HEAD: Final = 240
"""Characters that stay of what is shortened."""
_WORTH_IT: Final = 2 * KEPT_HEAD
_RECENT: Final = 4
"""Messages at the end that are shortened last of all."""


@dataclass(frozen=True, slots=True)
class Fitted:
    messages: Sequence[Message]
    tokens: int
    """Of the messages alone."""
    shortened: int = 0
    """How many of them are not whole."""


@dataclass(frozen=True, slots=True)
class TooLong:
    """What cannot be shortened is longer than there is room."""

    needed: int


def as_it_is(message: Message) -> Message:
    return message


def tokens_of(message: Message, count: Count) -> int:
    size = count(message.text) + A_MESSAGE
    if isinstance(message, ToolGave):
        return size + count(message.name) + A_CALL
    if isinstance(message, ModelSaid):
        asked = sum(
            count(call.name) + count(json.dumps(call.arguments, ensure_ascii=False)) + A_CALL
            for call in message.calls
        )
        # What its server wants back stands for the text and the calls, and may be longer.
        kept = message.kept
        back = 0 if kept is None else count(json.dumps(kept, ensure_ascii=False))
        return max(size + asked, back)
    return size


def tokens_of_tool(tool: ToolShown, count: Count) -> int:
    schema = json.dumps(tool.schema, ensure_ascii=False)
    return count(tool.name) + count(tool.description) + count(schema) + A_CALL


def fit(
    messages: Sequence[Message], room: int, count: Count, as_sent: AsSent = as_it_is
) -> Fitted | TooLong:
    """As they are if they fit; else with as little left out as need be, the oldest first. They are
    counted as they are sent, and given back as they are."""
    kept = list(messages)
    sizes = [tokens_of(as_sent(message), count) for message in kept]
    total = sum(sizes)
    changed: set[int] = set()
    for place in _in_order(kept):
        if total <= room:
            break
        shorter = _shortened(kept[place])
        size = tokens_of(as_sent(shorter), count)
        if size < sizes[place]:
            total -= sizes[place] - size
            kept[place], sizes[place] = shorter, size
            changed.add(place)
    if total > room:
        return TooLong(total)
    return Fitted(kept, total, len(changed))


def _in_order(messages: Sequence[Message]) -> Sequence[int]:
    """In which they are shortened; what people said is not among them."""
    old, recent = range(len(messages))[:-_RECENT], range(len(messages))[-_RECENT:]
    return [
        place
        for part in (old, recent)
        for kind in (ToolGave, ModelSaid)
        for place in part
        if isinstance(messages[place], kind)
    ]


def _shortened(message: Message) -> Message:
    match message:
        case ToolGave(text=text) if len(text) > _WORTH_IT:
            return replace(message, text=_short(text, "this result of a tool"))
        case ModelSaid(text=text) if len(text) > _WORTH_IT:
            return ModelSaid(_short(text, "what was said here"), message.calls)
        case ModelSaid(kept=kept) if kept is not None:
            return replace(message, kept=None)
        case _:
            return message


def _short(text: str, what: str) -> str:
    left_out = len(text) - KEPT_HEAD
    return (
        f"{text[:KEPT_HEAD]}\n[The other {left_out:,} of the {len(text):,} characters of {what} "
        "were left out, to make room.]"
    )
