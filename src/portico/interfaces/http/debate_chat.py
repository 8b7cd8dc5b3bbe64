"""What a chat program is told of a debate: a line a voice on the way, and at its end the answer,
how likely it is, and who dissents."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from portico.debate.core.conduct import brief, percent, skip_words, verdict_words
from portico.debate.core.debates import Debate, DebateStatus, Decision, Option, Verdict, WholeDebate
from portico.debate.core.events import (
    PartBegan,
    RoundBegan,
    Skipped,
    Told,
    VoiceAnswered,
    VoiceFailed,
)
from portico.debate.debaters import ShortenAnswer
from portico.interfaces.http.chat_bodies import ChatIn
from portico.interfaces.http.debate_use_cases import DebateUseCases
from portico.interfaces.http.line import Line
from portico.interfaces.http.openai_errors import error_json, failure_response
from portico.interfaces.http.sse import one_line
from portico.interfaces.http.talk_stream import Listener, TalkStream, collected
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal

DEBATE_HEADER: Final = "Portico-Debate"
"""The header that says which debate answers."""
_DONE: Final = b"data: [DONE]\n\n"
_FAILED: Final = "debate_failed"


async def debate_reply(
    debates: DebateUseCases, listener: Listener, debate: Debate, body: ChatIn, line: Line | None
) -> Response:
    chunks = DebateChunks(
        debate=debate,
        model=body.model,
        with_usage=body.with_usage,
        most=body.most_output,
        shorten=debates.shorten_answer,
    )
    told = _told(debates, listener.caller, debate)
    headers = {DEBATE_HEADER: str(debate.id)}
    if body.stream:
        stream = TalkStream(listener, told, chunks)
        stream.headers.update(headers)
        return stream
    error = await collected(told, chunks, patience=0, line=line)
    if error is not None:
        raise error
    if chunks.failed:
        return failure_response(_FAILED, chunks.content)
    return JSONResponse(chunks.whole_answer(), headers=headers)


async def _told(
    debates: DebateUseCases, caller: Principal, debate: Debate
) -> AsyncGenerator[Told | WholeDebate, None]:
    """What happens, and at last the whole of it: what was read and written is in its notes."""
    async with aclosing(debates.follow_debate(caller, debate.id)) as following:
        async for each in following:
            yield each
    yield await debates.look.one(caller, debate.id)


@dataclass(slots=True, kw_only=True)
class DebateChunks:
    """The `Telling` of one answer."""

    debate: Debate
    model: str
    with_usage: bool
    most: int | None
    """Tokens that the program has room for."""
    shorten: ShortenAnswer
    whole: WholeDebate | None = None
    reasoning: str = ""
    content: str = ""
    cut: bool = False

    @property
    def waits(self) -> bool:
        return False

    @property
    def failed(self) -> bool:
        return self.whole is not None and self.whole.debate.status is DebateStatus.FAILED

    def begun(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def told(self, told: Told | WholeDebate) -> bytes:
        if isinstance(told, WholeDebate):
            self._end(told)
            return b"" if self.failed else self._chunk({"content": self.content})
        line = _line(told)
        if not line:
            return b""
        self.reasoning += f"{line}\n"
        return self._chunk({"reasoning_content": f"{line}\n"})

    def _end(self, whole: WholeDebate) -> None:
        self.whole = whole
        text = answer_text(whole.debate)
        self.content = text if self.failed else self.shorten(text, self.most)
        self.cut = self.content != text

    @property
    def _finish(self) -> str:
        return "length" if self.cut else "stop"

    def gave_up(self) -> bytes:
        return b""

    def broke(self, error: PorticoError) -> bytes:
        problem = {"detail": str(error), "code": error.code, "fix": error.fix}
        return _data(error_json(problem, 500)) + _DONE

    def ended(self) -> bytes:
        if self.failed:
            return _data(error_json({"detail": self.content, "code": _FAILED}, 502)) + _DONE
        last = self._chunk({}, self._finish)
        if self.with_usage:
            head = self._head("chat.completion.chunk")
            last += _data({**head, "choices": [], "usage": self._usage()})
        return last + _DONE

    def whole_answer(self) -> dict[str, Any]:
        beside = {"reasoning_content": self.reasoning} if self.reasoning else {}
        message = {"role": "assistant", "content": self.content, "refusal": None, **beside}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage()}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _data({**self._head("chat.completion.chunk"), "choices": [choice]})

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.debate.id}",
            "object": kind,
            "created": int(self.debate.started_at.timestamp()),
            "model": self.model,
        }

    def _usage(self) -> dict[str, Any]:
        """Of all voices together."""
        notes = () if self.whole is None else self.whole.notes
        read = sum(each.prompt_tokens for each in notes)
        written = sum(each.output_tokens for each in notes)
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        }


def answer_text(debate: Debate) -> str:
    """For people: the answer first, then how it stands, then who dissents."""
    decision = debate.decision
    verdict = verdict_words(decision, debate.status)
    if decision is None:
        return verdict
    said = _answer(decision)
    others = decision.dissent if said else decision.options
    dissent = [_option_line(each) for each in others]
    head = ["Dissent:" if said else "What was said:"] if dissent else []
    quoted = "\n".join(f"> {line}" for line in [verdict, *head, *dissent])
    return f"{said}\n\n{quoted}" if said else quoted


def _answer(decision: Decision) -> str:
    if decision.verdict is not Verdict.DECIDED:
        return ""
    return decision.synthesis or decision.answer or ""


def _option_line(option: Option) -> str:
    who = ", ".join(option.voices)
    why = f": {brief(option.rationale)}" if option.rationale else ""
    return f"- {brief(option.shown)} ({percent(option.probability)}; {who}){why}"


def _line(told: Told) -> str:
    match told.happening:
        case RoundBegan(round=number):
            return "Round 1: blind answers." if number == 1 else f"Round {number}: critique."
        case VoiceAnswered(voice=voice, answer=answer):
            return f"{voice}: {brief(answer)}"
        case VoiceFailed(voice=voice, why=why):
            return f"{voice} gave no answer: {brief(why)}"
        case Skipped(what=what, why=why, saved_tokens=saved):
            return skip_words(brief(what), why, saved)
        case PartBegan(question=question):
            return f"A part of it: {brief(question)}"
        case _:
            return ""


def _data(value: dict[str, Any]) -> bytes:
    """What a voice said may hold half of a surrogate pair, which is no UTF-8: it is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"data: {one_line(text)}\n\n".encode(errors="backslashreplace")
