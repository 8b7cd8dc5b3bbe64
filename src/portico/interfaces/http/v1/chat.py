"""Chat completions: an agent or a debate answers, whole or in chunks."""

import hashlib
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Request
from starlette.responses import JSONResponse, Response

from portico.agents.conversations import RoutedMessage
from portico.agents.core.conversations import Spoken, going_on_note, waiting_note
from portico.agents.core.events import (
    AgentEvent,
    AgentStreamItem,
    InputReceived,
    ReasoningDelta,
    RunFinished,
    RunNotice,
    TextDelta,
    ToolCallAwaitingApproval,
    ToolCallFinished,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
)
from portico.agents.core.model_requests import Finish, Usage
from portico.agents.core.traces import AgentRunStatus
from portico.debate.core.conduct import brief, percent, skip_words, verdict_words
from portico.debate.core.debates import Debate, DebateStatus, Decision, Option, Verdict, WholeDebate
from portico.debate.core.events import (
    DebaterAnswered,
    DebaterFailed,
    PartStarted,
    RoundStarted,
    Skipped,
)
from portico.debate.core.events import DebateStreamItem as DebateTold
from portico.debate.debaters import ShortenAnswer
from portico.interfaces.http.streaming import (
    MEDIA_TYPE,
    Listener,
    Listening,
    RawConnection,
    RunEventStream,
    collected,
    line_of,
    one_line,
)
from portico.interfaces.http.use_cases import Debates, DebateUseCases, Runs, Use
from portico.interfaces.http.v1.shapes import (
    ChatIn,
    error_json,
    failure_response,
    preset_named,
    said,
)
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal

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

    taken: RoutedMessage
    base_url: str
    end: RunFinished | None = None
    content: str = ""
    reasoning: str = ""
    cut: bool = False
    """The last turn had more to say than it had room for."""
    _text: Spoken = field(default_factory=Spoken)
    _thought: Spoken = field(default_factory=Spoken)
    _turn: str = ""
    """What was said in this turn, in the attempt that counts."""
    _waiting: dict[str, ToolCallAwaitingApproval] = field(default_factory=dict)
    _mute: bool = False

    def __post_init__(self) -> None:
        self._mute = self.taken.past is not None

    @property
    def waits(self) -> bool:
        return bool(self._waiting) and self.end is None

    def started(self) -> Delta:
        return self._say(Delta(content=self.taken.before))

    def receive(self, happening: AgentEvent) -> Delta:
        delta = self._delta(happening)
        if not self._mute:
            return self._say(delta)
        if (
            isinstance(happening, ToolCallAwaitingApproval)
            and happening.approval == self.taken.past
        ):
            self._mute = False
            notes = [self._note(each) for each in self._waiting.values()]
            return self._say(_paragraphs(*notes if self.taken.waits else ()))
        if isinstance(happening, RunFinished):
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

    def _delta(self, happening: AgentEvent) -> Delta:
        match happening:
            case TextDelta():
                return self._words(happening)
            case ReasoningDelta():
                self._thought = self._thought.after(happening)
                return Delta(reasoning=self._thought.fresh)
            case ToolCallStarted() | ToolCallAwaitingApproval() | ToolCallFinished():
                return self._tool(happening)
            case RunNotice(message=message):
                return _line(message)
            case TurnStarted() | TurnFinished() | InputReceived():
                self._take_in(happening)
                return Delta()
            case RunFinished():
                self.end = happening
                return _ending(happening, self._rest(happening.answer))

    def _take_in(self, happening: TurnStarted | TurnFinished | InputReceived) -> None:
        """Of which nothing is said."""
        if isinstance(happening, TurnFinished):
            self.cut = happening.finish is Finish.LENGTH
        elif isinstance(happening, TurnStarted) and happening.turn != self._text.turn:
            self._turn = ""

    def _tool(
        self, happening: ToolCallStarted | ToolCallAwaitingApproval | ToolCallFinished
    ) -> Delta:
        match happening:
            case ToolCallStarted(tool=tool, arguments=arguments):
                return _line(f"{tool} {_shown(arguments)}")
            case ToolCallAwaitingApproval(call=call):
                self._waiting[call] = happening
                return _paragraphs(self._note(happening))
            case ToolCallFinished(call=call):
                self._waiting.pop(call, None)
                return _outcome(happening)

    def _words(self, piece: TextDelta) -> Delta:
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

    def _note(self, waits: ToolCallAwaitingApproval) -> str:
        return waiting_note(self.taken.run, waits, self.base_url)


def _joined(before: str, text: str) -> str:
    """A paragraph begins with an empty line, but for the first."""
    return text if before else text.lstrip("\n")


def _paragraphs(*lines: str) -> Delta:
    return Delta("".join(f"\n\n{line}" for line in lines))


def _line(text: str) -> Delta:
    return Delta(reasoning=f"\n{text}\n")


def _outcome(ended: ToolCallFinished) -> Delta:
    if not ended.failed:
        return Delta()
    why = ended.text.strip().partition("\n")[0]
    return _line(f"{ended.tool} failed: {_cut(why)}")


def _ending(ended: RunFinished, rest: str) -> Delta:
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


_DONE: Final = b"data: [DONE]\n\n"
_FAILED: Final = {AgentRunStatus.FAILED}


def failed(reply: ChatReply) -> RunFinished | None:
    return reply.end if reply.end is not None and reply.end.status in _FAILED else None


def failure_told(ended: RunFinished) -> str:
    told = [ended.error or "The run failed.", ended.fix]
    return " ".join(each for each in told if each)


@dataclass(frozen=True, slots=True)
class ChatChunks:
    """The `StreamEncoder` of one answer."""

    reply: ChatReply
    model: str
    with_usage: bool

    @property
    def waits(self) -> bool:
        return self.reply.waits

    def started(self) -> bytes:
        opened = self._chunk({"role": "assistant", "content": ""})
        return opened + self._piece(self.reply.started())

    def told(self, told: AgentStreamItem) -> bytes:
        return self._piece(self.reply.receive(told.event))

    def gave_up(self) -> bytes:
        return self._piece(self.reply.gave_up()) + self._last()

    def broke(self, error: PorticoError) -> bytes:
        problem = {"detail": str(error), "code": error.code, "fix": error.fix}
        return _data(error_json(problem, 500)) + _DONE

    def ended(self) -> bytes:
        ended = failed(self.reply)
        if ended is None:
            return self._last()
        problem = {"detail": failure_told(ended), "code": ended.error_code}
        return _data(error_json(problem, 502)) + _DONE

    def whole(self) -> dict[str, Any]:
        """The answer by itself, and what was said on the way to it beside it; or as far as it came,
        where something waits."""
        said, thought = self.reply.content, self.reply.reasoning
        if not self.reply.taken.before:
            said = self.reply.answer or said
        beside = {"reasoning_content": thought} if thought else {}
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": said, "refusal": None, **beside},
            "logprobs": None,
            "finish_reason": self._finish,
        }
        head = self._head("chat.completion")
        return {**head, "choices": [choice], "usage": _usage(self._usage)}

    def _last(self) -> bytes:
        last = self._chunk({}, self._finish)
        if self.with_usage:
            head = self._head("chat.completion.chunk")
            last += _data({**head, "choices": [], "usage": _usage(self._usage)})
        return last + _DONE

    def _piece(self, delta: Delta) -> bytes:
        told: dict[str, Any] = {}
        if delta.reasoning:
            told["reasoning_content"] = delta.reasoning
        if delta.content:
            told["content"] = delta.content
        return self._chunk(told) if told else b""

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _data({**self._head("chat.completion.chunk"), "choices": [choice]})

    def _head(self, kind: str) -> dict[str, Any]:
        taken = self.reply.taken
        return {
            "id": f"chatcmpl-{taken.run}",
            "object": kind,
            "created": int(taken.at.timestamp()),
            "model": self.model,
        }

    @property
    def _finish(self) -> str:
        ended = self.reply.end
        exhausted = ended is not None and ended.status is AgentRunStatus.EXHAUSTED
        return "length" if exhausted or self.reply.cut else "stop"

    @property
    def _usage(self) -> Usage:
        return Usage() if self.reply.end is None else self.reply.end.usage


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


def _data(value: dict[str, Any]) -> bytes:
    """What a model said may hold half of a surrogate pair, which is no UTF-8: it is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"data: {one_line(text)}\n\n".encode(errors="backslashreplace")


DEBATE_HEADER: Final = "Portico-Debate"
"""The header that says which debate answers."""
_DEBATE_FAILED: Final = "debate_failed"


async def debate_reply(
    debates: DebateUseCases,
    listener: Listener,
    debate: Debate,
    body: ChatIn,
    line: RawConnection | None,
) -> Response:
    chunks = DebateChunks(
        debate=debate,
        model=body.model,
        with_usage=body.with_usage,
        limit=body.most_output,
        shorten=debates.shorten_answer,
    )
    told = _told(debates, listener.caller, debate)
    headers = {DEBATE_HEADER: str(debate.id)}
    if body.stream:
        stream = RunEventStream(listener, told, chunks)
        stream.headers.update(headers)
        return stream
    error = await collected(told, chunks, patience=0, line=line)
    if error is not None:
        raise error
    if chunks.failed:
        return failure_response(_DEBATE_FAILED, chunks.content)
    return JSONResponse(chunks.whole_answer(), headers=headers)


async def _told(
    debates: DebateUseCases, caller: Principal, debate: Debate
) -> AsyncGenerator[DebateTold | WholeDebate, None]:
    """What happens, and at last the whole of it: what was read and written is in its notes."""
    async with aclosing(debates.follow_debate(caller, debate.id)) as following:
        async for each in following:
            yield each
    yield await debates.look.one(caller, debate.id)


@dataclass(slots=True, kw_only=True)
class DebateChunks:
    """The `StreamEncoder` of one answer."""

    debate: Debate
    model: str
    with_usage: bool
    limit: int | None
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

    def started(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def told(self, told: DebateTold | WholeDebate) -> bytes:
        if isinstance(told, WholeDebate):
            self._end(told)
            return b"" if self.failed else self._chunk({"content": self.content})
        line = _debate_line(told)
        if not line:
            return b""
        self.reasoning += f"{line}\n"
        return self._chunk({"reasoning_content": f"{line}\n"})

    def _end(self, whole: WholeDebate) -> None:
        self.whole = whole
        text = answer_text(whole.debate)
        self.content = text if self.failed else self.shorten(text, self.limit)
        self.cut = self.content != text

    @property
    def _finish(self) -> str:
        return "length" if self.cut else "stop"

    def gave_up(self) -> bytes:
        return b""

    def broke(self, error: PorticoError) -> bytes:
        problem = {"detail": str(error), "code": error.code, "fix": error.fix}
        return _debate_data(error_json(problem, 500)) + _DONE

    def ended(self) -> bytes:
        if self.failed:
            return (
                _debate_data(error_json({"detail": self.content, "code": _DEBATE_FAILED}, 502))
                + _DONE
            )
        last = self._chunk({}, self._finish)
        if self.with_usage:
            head = self._head("chat.completion.chunk")
            last += _debate_data({**head, "choices": [], "usage": self._usage()})
        return last + _DONE

    def whole_answer(self) -> dict[str, Any]:
        beside = {"reasoning_content": self.reasoning} if self.reasoning else {}
        message = {"role": "assistant", "content": self.content, "refusal": None, **beside}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage()}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _debate_data({**self._head("chat.completion.chunk"), "choices": [choice]})

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
    who = ", ".join(option.debaters)
    why = f": {brief(option.rationale)}" if option.rationale else ""
    return f"- {brief(option.shown)} ({percent(option.probability)}; {who}){why}"


def _debate_line(told: DebateTold) -> str:
    match told.event:
        case RoundStarted(round=number):
            return "Round 1: blind answers." if number == 1 else f"Round {number}: critique."
        case DebaterAnswered(voice=voice, answer=answer):
            return f"{voice}: {brief(answer)}"
        case DebaterFailed(voice=voice, why=why):
            return f"{voice} gave no answer: {brief(why)}"
        case Skipped(what=what, why=why, saved_tokens=saved):
            return skip_words(brief(what), why, saved)
        case PartStarted(question=question):
            return f"A part of it: {brief(question)}"
        case _:
            return ""


def _debate_data(value: dict[str, Any]) -> bytes:
    """What a voice said may hold half of a surrogate pair, which is no UTF-8: it is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"data: {one_line(text)}\n\n".encode(errors="backslashreplace")


RUN: Final = "Portico-Run"
"""The header that says which run answers."""
_CHUNKS: Final[dict[str, Any]] = {MEDIA_TYPE: {"schema": {"type": "string"}}}

_Key = Annotated[str | None, Header(min_length=1, max_length=255, pattern=r"^[\x21-\x7e]+$")]
_Repeats = Annotated[str | None, Header(alias="x-stainless-retry-count", max_length=20)]

router = APIRouter(prefix="/v1", tags=["chat"])


@router.post(
    "/chat/completions",
    name="complete_chat",
    response_class=JSONResponse,
    responses={
        **said(404, 429),
        200: {"description": "An answer; with `stream` in chunks.", "content": _CHUNKS},
        502: {"description": "The agent's run failed."},
    },
)
async def complete_chat(  # noqa: PLR0913 # FastAPI's way to be handed them
    request: Request,
    use: Use,
    listener: Listening,
    body: ChatIn,
    *,
    runs: Runs,
    debates: Debates,
    idempotency_key: _Key = None,
    repeats: _Repeats = None,
) -> Response:
    """Ask an agent something. Its tools are shown as `reasoning_content`; where people have to
    approve one, the answer says so and goes on when they have. Or ask several voices at once: what
    each of them says is shown so, and the answer tells how likely it is and who dissents."""
    key = None if idempotency_key is None else _digest(idempotency_key)
    again = repeats not in {None, "0"}
    if (preset := preset_named(body.model)) is not None:
        wish = body.debate_wish(preset, key)
        debate = await debates.ask_in_chat(listener.caller, wish, again=again)
        return await debate_reply(debates, listener, debate, body, line_of(request.scope))
    question = body.question(again=again, key=key)
    taken = await runs.take_question(listener.caller, question)
    reply = ChatReply(taken=taken, base_url=use.base_url)
    chunks = ChatChunks(reply, body.model, body.with_usage)
    told = runs.follow_run(listener.caller, taken.run)
    patience = runs.chat_patience.total_seconds()
    if body.stream:
        stream = RunEventStream(listener, told, chunks, patience=patience)
        stream.headers[RUN] = str(taken.run)
        return stream
    error = await collected(told, chunks, patience=patience, line=line_of(request.scope))
    if error is not None:
        raise error
    if (ended := failed(reply)) is not None:
        return failure_response(ended.error_code or "agent_run_failed", failure_told(ended))
    return JSONResponse(chunks.whole(), headers={RUN: str(taken.run)})


def _digest(key: str) -> str:
    return f"sent-{hashlib.sha256(key.encode()).hexdigest()}"
