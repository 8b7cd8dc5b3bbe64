"""What a chat program is told of a run: the agent's words, and beside them a line for each tool."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from portico.agents.conversations import Taken
from portico.agents.core.conversations import Spoken, going_on_note, waiting_note
from portico.agents.core.events import (
    Happening,
    Heard,
    Noted,
    RunEnded,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    ToolEnded,
    ToolWaits,
    TurnBegan,
    TurnEnded,
)
from portico.agents.core.model_requests import Finish
from portico.agents.core.traces import AgentRunStatus

_LINE: Final = 200
_AGAIN: Final = "> That broke off; it is said anew."
_STOPPED: Final = "> The run was stopped."


@dataclass(frozen=True, slots=True)
class Delta:
    content: str = ""
    reasoning: str = ""

    def __bool__(self) -> bool:
        return bool(self.content or self.reasoning)


@dataclass(slots=True, kw_only=True)
class ChatReply:
    """Goes along with one run; what it has said so far cannot be taken back."""

    taken: Taken
    base_url: str
    end: RunEnded | None = None
    content: str = ""
    reasoning: str = ""
    cut: bool = False
    """The last turn had more to say than it had room for."""
    _text: Spoken = field(default_factory=Spoken)
    _thought: Spoken = field(default_factory=Spoken)
    _turn: str = ""
    """What was said in this turn, in the attempt that counts."""
    _waiting: dict[str, ToolWaits] = field(default_factory=dict)
    _mute: bool = False

    def __post_init__(self) -> None:
        self._mute = self.taken.past is not None

    @property
    def waits(self) -> bool:
        return bool(self._waiting) and self.end is None

    def begun(self) -> Delta:
        return self._say(Delta(content=self.taken.before))

    def hear(self, happening: Happening) -> Delta:
        delta = self._delta(happening)
        if not self._mute:
            return self._say(delta)
        if isinstance(happening, ToolWaits) and happening.approval == self.taken.past:
            self._mute = False
            notes = [self._note(each) for each in self._waiting.values()]
            return self._say(_paragraphs(*notes if self.taken.waits else ()))
        if isinstance(happening, RunEnded):
            self._mute = False
            return self._say(_ending(happening, happening.answer))
        return Delta()

    @property
    def answer(self) -> str:
        """By itself, with what there is to say of its end; empty as long as there is none."""
        if self.end is None or not self.end.answer:
            return ""
        return _ending(self.end, self.end.answer).content

    def gave_up(self) -> Delta:
        return self._say(_paragraphs(going_on_note(self.taken.run)))

    def _say(self, delta: Delta) -> Delta:
        """With a line of its own for what is one."""
        content = _joined(self.content, delta.content)
        reasoning = _joined(self.reasoning, delta.reasoning)
        self.content += content
        self.reasoning += reasoning
        return Delta(content, reasoning)

    def _delta(self, happening: Happening) -> Delta:
        match happening:
            case TextAdded():
                return self._words(happening)
            case ThoughtAdded():
                self._thought = self._thought.after(happening)
                return Delta(reasoning=self._thought.fresh)
            case ToolBegan() | ToolWaits() | ToolEnded():
                return self._tool(happening)
            case Noted(message=message):
                return _line(message)
            case TurnBegan() | TurnEnded() | Heard():
                self._take_in(happening)
                return Delta()
            case RunEnded():
                self.end = happening
                return _ending(happening, self._rest(happening.answer))

    def _take_in(self, happening: TurnBegan | TurnEnded | Heard) -> None:
        """Of which nothing is said."""
        if isinstance(happening, TurnEnded):
            self.cut = happening.finish is Finish.LENGTH
        elif isinstance(happening, TurnBegan) and happening.turn != self._text.turn:
            self._turn = ""

    def _tool(self, happening: ToolBegan | ToolWaits | ToolEnded) -> Delta:
        match happening:
            case ToolBegan(tool=tool, arguments=arguments):
                return _line(f"{tool} {_shown(arguments)}")
            case ToolWaits(call=call):
                self._waiting[call] = happening
                return _paragraphs(self._note(happening))
            case ToolEnded(call=call):
                self._waiting.pop(call, None)
                return _outcome(happening)

    def _words(self, piece: TextAdded) -> Delta:
        another = piece.turn > self._text.turn
        self._text = self._text.after(piece)
        fresh = self._text.fresh
        if self._text.anew:
            self._turn = fresh
            return Delta(f"\n\n{_AGAIN}\n\n{fresh}")
        self._turn = fresh if another else self._turn + fresh
        return Delta(f"\n\n{fresh}" if another and fresh else fresh)

    def _rest(self, answer: str) -> str:
        """What of the answer was not said yet: all of it, where it was not followed live."""
        if self._turn and answer.startswith(self._turn.strip()):
            return answer.removeprefix(self._turn.strip())
        return f"\n\n{answer}" if answer else ""

    def _note(self, waits: ToolWaits) -> str:
        return waiting_note(self.taken.run, waits, self.base_url)


def _joined(before: str, text: str) -> str:
    """A paragraph begins with an empty line, but for the first."""
    return text if before else text.lstrip("\n")


def _paragraphs(*lines: str) -> Delta:
    return Delta("".join(f"\n\n{line}" for line in lines))


def _line(text: str) -> Delta:
    return Delta(reasoning=f"\n{text}\n")


def _outcome(ended: ToolEnded) -> Delta:
    if not ended.failed:
        return Delta()
    why = ended.text.strip().partition("\n")[0]
    return _line(f"{ended.tool} failed: {_cut(why)}")


def _ending(ended: RunEnded, rest: str) -> Delta:
    match ended.status:
        case AgentRunStatus.STOPPED | AgentRunStatus.CANCELLED:
            return Delta(f"{rest}\n\n{_STOPPED}")
        case AgentRunStatus.EXHAUSTED:
            why = " ".join(each for each in (ended.error, ended.fix) if each)
            return Delta(f"{rest}\n\n> {why}")
        case _:
            return Delta(rest)


def _shown(arguments: Mapping[str, object]) -> str:
    return _cut(json.dumps(arguments, ensure_ascii=False, default=dict))


def _cut(text: str) -> str:
    return text if len(text) <= _LINE else f"{text[: _LINE - 1]}…"
