"""Conversations: messages, compaction, chat."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.agents.core.events import ReasoningDelta, TextDelta, ToolCallAwaitingApproval
from portico.agents.core.model_requests import (
    AssistantMessage,
    Message,
    ToolMessage,
    ToolShown,
    UserMessage,
    message_as_json,
)
from portico.agents.core.traces import ToolUse, TurnTrace, UserInput, WholeTrace
from portico.kernel.ids import ApprovalId, RunId

NOT_MADE: Final = "There is no result of this call: the run had ended before."
NOT_KEPT: Final = "[Portico] What was said before this is not kept any more."


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """A message, and which model it is from, if it is from one."""

    message: Message
    model: str | None = None


def lines_of(
    said: Sequence[UserInput], turns: Sequence[TurnTrace], uses: Iterable[ToolUse]
) -> Sequence[TranscriptLine]:
    """Each turn after what it had heard; each call with what it came to."""
    by_turn: dict[int, dict[int, ToolUse]] = {}
    for use in uses:
        by_turn.setdefault(use.turn, {})[use.position] = use
    lines: list[TranscriptLine] = []
    heard = 0
    for turn in sorted(turns, key=lambda each: each.number):
        lines += _heard(said, heard, turn.inputs_seen)
        heard = max(heard, turn.inputs_seen)
        lines.append(
            TranscriptLine(AssistantMessage(turn.text, turn.calls, turn.stored), turn.model)
        )
        lines += _results(turn, by_turn.get(turn.number, {}))
    return lines + _heard(said, heard, len(said))


def lines_of_trace(trace: WholeTrace) -> Sequence[TranscriptLine]:
    before = [TranscriptLine(message) for message in trace.run.history]
    return [*before, *lines_of(trace.said, trace.turns, trace.uses)]


def for_model(lines: Iterable[TranscriptLine], model: str) -> Sequence[Message]:
    """What one server wants back with its own words is not another's to see."""
    return [
        AssistantMessage(line.message.text, line.message.calls)
        if isinstance(line.message, AssistantMessage) and line.model != model
        else line.message
        for line in lines
    ]


def words_of(lines: Sequence[TranscriptLine]) -> str:
    """What people said last: what tools are looked for by."""
    said = [line.message.text for line in lines if isinstance(line.message, UserMessage)]
    return said[-1] if said else ""


def _heard(said: Sequence[UserInput], after: int, upto: int) -> list[TranscriptLine]:
    return [TranscriptLine(UserMessage(each.text)) for each in said if after < each.number <= upto]


def _results(turn: TurnTrace, uses: dict[int, ToolUse]) -> list[TranscriptLine]:
    return [
        TranscriptLine(
            ToolMessage(call.id, call.name, uses[place].text, uses[place].failed)
            if place in uses
            else ToolMessage(call.id, call.name, NOT_MADE, failed=True)
        )
        for place, call in enumerate(turn.calls)
    ]


# A talk with an agent as a chat program keeps it: all that was said so far, sent with each
# question, and nothing else. What such a program must not lose stands in the text itself.

GO_ON: Final = "go on"
"""What somebody says who only wants to hear how it went."""
_ID: Final = "[0-7][0-9a-hjkmnp-tv-z]{25}"
_WAITS: Final = re.compile(rf"^> (run_{_ID}) waits for approval of .*\b(apr_{_ID})\b")
_GOES_ON: Final = re.compile(rf"^> (run_{_ID}) goes on ")


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The run that the last answer was about, and where in it that ended."""

    run: RunId
    approval: ApprovalId | None = None
    """What it waited for then; None if it was told to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    agent: str
    message: str
    history: tuple[Message, ...] = ()
    left_off: ResumePoint | None = None
    key: str
    """The same for the same question after the same talk."""
    keyed: bool = False
    """The key is the asker's own: whatever came of the question under it is the answer."""
    again: bool = False
    """Whoever asks says that they ask it once more, since they have heard no answer."""
    max_output_tokens: int | None = None

    @property
    def only_goes_on(self) -> bool:
        return self.message.strip(" \t\r\n.!\"'").lower() == GO_ON


def waiting_note(run: RunId, waits: ToolCallAwaitingApproval, base_url: str) -> str:
    """One line that says what waits and where to answer, and is known again by `left_off`."""
    until = "" if waits.expires_at is None else f" until {waits.expires_at:%Y-%m-%d %H:%M} UTC"
    return (
        f"> {run} waits for approval of {waits.tool}{until}: "
        f"`portico approvals approve {waits.approval}` (or `reject`), "
        f"or POST {base_url}/api/v1/approvals/{waits.approval}/answer. "
        "It goes on by itself then."
    )


def going_on_note(run: RunId) -> str:
    return f'> {run} goes on once that is answered. Say "{GO_ON}" here to hear how it went.'


def left_off(text: str) -> ResumePoint | None:
    """Where an answer of ours ended, if its last line says that something waits."""
    lines = [line for line in text.split("\n") if line.strip()]
    last = lines[-1] if lines else ""
    found = _WAITS.match(last) or _GOES_ON.match(last)
    if found is None:
        return None
    run = found[1]
    waited = [match[2] for line in lines if (match := _WAITS.match(line)) and match[1] == run]
    return ResumePoint(RunId.parse(run), ApprovalId.parse(waited[-1]) if waited else None)


def without_notes(text: str) -> str:
    """What the agent said, without what was said of it."""
    lines = [line for line in text.split("\n") if not (_WAITS.match(line) or _GOES_ON.match(line))]
    return text if len(lines) == text.count("\n") + 1 else "\n".join(lines).strip()


def told_before(said: Sequence[Message]) -> tuple[Message, ...]:
    """An earlier talk as a model is given it."""
    cleared = [
        AssistantMessage(without_notes(each.text)) if isinstance(each, AssistantMessage) else each
        for each in said
    ]
    return tuple(each for each in cleared if each.text)


def with_wishes(wishes: Sequence[str], said: Sequence[Message]) -> tuple[Message, ...]:
    """What a program says for its user goes before their first words, as theirs: the agent has
    instructions of its own, which nobody who merely asks it something can change."""
    if not wishes:
        return tuple(said)
    place = next(number for number, each in enumerate(said) if isinstance(each, UserMessage))
    first = UserMessage("\n\n".join([*wishes, said[place].text]))
    return (*said[:place], first, *said[place + 1 :])


def question_key(agent: str, said: Sequence[Message]) -> str:
    text = json.dumps([agent, [message_as_json(each) for each in said]], default=dict)
    return f"chat-{hashlib.sha256(text.encode()).hexdigest()}"


# What is said in a run, made to fit into a model's window.
#
# Every word of people stays. Old results of tools are shortened first, then old words of models; a
# call and what it came to always stay together. What is left out is named where it stood.

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
    if isinstance(message, ToolMessage):
        return size + count(message.name) + A_CALL
    if isinstance(message, AssistantMessage):
        asked = sum(
            count(call.name) + count(json.dumps(call.arguments, ensure_ascii=False)) + A_CALL
            for call in message.calls
        )
        # What its server wants back stands for the text and the calls, and may be longer.
        kept = message.provider_data
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
        for kind in (ToolMessage, AssistantMessage)
        for place in part
        if isinstance(messages[place], kind)
    ]


def _shortened(message: Message) -> Message:
    match message:
        case ToolMessage(text=text) if len(text) > _WORTH_IT:
            return replace(message, text=_short(text, "this result of a tool"))
        case AssistantMessage(text=text) if len(text) > _WORTH_IT:
            return AssistantMessage(_short(text, "what was said here"), message.calls)
        case AssistantMessage(provider_data=kept) if kept is not None:
            return replace(message, provider_data=None)
        case _:
            return message


def _short(text: str, what: str) -> str:
    left_out = len(text) - KEPT_HEAD
    return (
        f"{text[:KEPT_HEAD]}\n[The other {left_out:,} of the {len(text):,} characters of {what} "
        "were left out, to make room.]"
    )


# How far somebody has heard what a model says, of which some is told twice and some is void.


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """Of its words; its thoughts are another one."""

    turn: int = 0
    attempt: int = 0
    length: int = 0
    fresh: str = ""
    """What of the last piece had not been heard before."""
    anew: bool = False
    """With the last piece it began again, and what had been heard of this turn is void."""

    def misses(self, piece: TextDelta | ReasoningDelta) -> bool:
        """Whether something before it has not been heard."""
        place, here = (piece.turn, piece.attempt), (self.turn, self.attempt)
        return place >= here and piece.offset > (self.length if place == here else 0)

    def after(self, piece: TextDelta | ReasoningDelta) -> "Spoken":
        place, here = (piece.turn, piece.attempt), (self.turn, self.attempt)
        if place < here:
            return Spoken(turn=self.turn, attempt=self.attempt, length=self.length)
        heard = self.length if place == here else 0
        return Spoken(
            turn=piece.turn,
            attempt=piece.attempt,
            length=max(heard, piece.offset + len(piece.text)),
            fresh=piece.text[max(heard - piece.offset, 0) :],
            anew=place > here and piece.turn == self.turn and self.length > 0,
        )
