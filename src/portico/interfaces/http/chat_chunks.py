"""An answer in the words of OpenAI's chat completions: whole, or in chunks."""

import json
from dataclasses import dataclass
from typing import Any, Final

from portico.agents.core.events import RunEnded, Told
from portico.agents.core.model_requests import Usage
from portico.agents.core.traces import AgentRunStatus
from portico.interfaces.http.chat_reply import ChatReply, Delta
from portico.interfaces.http.openai_errors import error_json
from portico.interfaces.http.sse import one_line
from portico.kernel.errors import PorticoError

_DONE: Final = b"data: [DONE]\n\n"
_FAILED: Final = {AgentRunStatus.FAILED}


def failed(reply: ChatReply) -> RunEnded | None:
    return reply.end if reply.end is not None and reply.end.status in _FAILED else None


def failure_told(ended: RunEnded) -> str:
    told = [ended.error or "The run failed.", ended.fix]
    return " ".join(each for each in told if each)


@dataclass(frozen=True, slots=True)
class ChatChunks:
    """The `Telling` of one answer."""

    reply: ChatReply
    model: str
    with_usage: bool

    @property
    def waits(self) -> bool:
        return self.reply.waits

    def begun(self) -> bytes:
        opened = self._chunk({"role": "assistant", "content": ""})
        return opened + self._piece(self.reply.begun())

    def told(self, told: Told) -> bytes:
        return self._piece(self.reply.hear(told.happening))

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
