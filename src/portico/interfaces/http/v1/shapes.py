"""Requests and errors of the OpenAI-compatible endpoints."""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.agents.core.conversations import (
    Question,
    left_off,
    question_key,
    told_before,
    with_wishes,
)
from portico.agents.core.model_requests import AssistantMessage, UserMessage
from portico.agents.core.model_requests import Message as ModelMessage
from portico.debate.core.debates import DebateSpec
from portico.debate.core.questions import Preset
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.shapes import Switch, Text
from portico.kernel.errors import FieldError, Kind, PorticoError

# Under /v1 errors have the form of OpenAI's: detail and fix of our problem in one message.

BELOW: Final = "/v1/"
_PROBLEM: Final = "application/problem+json"
_TYPES: Final[Mapping[int, str]] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_NO_SUCH_MODEL: Final = frozenset({"agent_not_found", "model_not_found"})
"""Agents are models here: the programs that ask know one code for it."""


class NotSupported(PorticoError):
    """Of what OpenAI has and an agent has not: to leave it away silently would be an answer to
    another question."""

    kind = Kind.INVALID
    code = "not_supported"
    title = "An agent cannot do this"
    fix = "Leave it away: an agent or a debate has tools, models and limits of its own."

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}")
        self.field_errors = (FieldError(field, why),)


class OpenAIErrors:
    """Around everything, for those addresses alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        below = scope["type"] == "http" and scope["path"].startswith(BELOW)
        await self._app(scope, receive, _Reworded(send) if below else send)


class _Reworded:
    """What is no problem goes through as it comes."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._tell(self._start)

    async def _tell(self, start: Message) -> None:
        problem = json.loads(self._body)
        status = 400 if start["status"] == 422 else start["status"]
        body = json.dumps(error_json(problem, status), ensure_ascii=False).encode()
        headers = MutableHeaders(raw=start["headers"])
        headers["content-type"] = "application/json"
        headers["content-length"] = str(len(body))
        await self._send({**start, "status": status, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def error_json(problem: Mapping[str, Any], status: int) -> dict[str, Any]:
    errors = problem.get("errors") or []
    told = [f"{each['field']}: {each['message']}" for each in errors]
    parts = [_sentence(part) for part in (problem["detail"], *told, problem.get("fix")) if part]
    usual = "invalid_request_error" if status < 500 else "server_error"
    param, code = errors[0]["field"] if errors else None, problem["code"]
    if status == 404 and code in _NO_SUCH_MODEL:
        param, code = "model", "model_not_found"
    return {
        "error": {
            "message": " ".join(dict.fromkeys(parts)),
            "type": _TYPES.get(status, usual),
            "param": param,
            "code": code,
        }
    }


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def failure_response(code: str, message: str) -> JSONResponse:
    """Of a run that failed: what is behind this server did not work."""
    return JSONResponse(error_json({"detail": message, "code": code}, 502), 502)


def _is_problem(start: Message) -> bool:
    found = [value for name, value in start["headers"] if name.lower() == b"content-type"]
    return any(value.decode("latin-1").startswith(_PROBLEM) for value in found)


def said(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """As `documented`, of those who are answered in OpenAI's words, too."""
    shape = {"type": "object", "properties": {"error": {"type": "object"}}, "required": ["error"]}
    return {
        status: {**each, "content": {**each["content"], "application/json": {"schema": shape}}}
        for status, each in documented(*statuses).items()
    }


PREFIX: Final = "agent/"
DEBATE: Final = "debate/"
_REFUSED: Final = {
    "tools": "an agent has tools of its own, and calls none of its clients'",
    "functions": "an agent has tools of its own, and calls none of its clients'",
    "stop": "an agent is not held to words to stop at",
    "logprobs": "an agent knows no probabilities of its words",
    "audio": "an agent writes text and nothing else",
}
_SPEAKERS: Final = {"user": "The user", "assistant": "The assistant"}
_NOTHING: Final[tuple[JsonValue, ...]] = (None, False, [], {})


class _Lenient(BaseModel):
    """What we do not know is left alone: programs send much that is harmless."""

    model_config = ConfigDict(extra="ignore")


class PartIn(_Lenient, title="PartIn"):
    type: Annotated[str, StringConstraints(max_length=100)]
    text: Text | None = None


class MessageIn(
    _Lenient,
    title="MessageIn",
    json_schema_extra=alias("portico__faces__http__chat_bodies__MessageIn"),
):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Text | Annotated[list[PartIn], Field(max_length=1000)] | None = None
    tool_calls: JsonValue = None


class StreamOptionsIn(_Lenient, title="StreamOptionsIn"):
    include_usage: Switch | None = None


class ChatIn(_Lenient, title="ChatIn"):
    model: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """`agent/` and the name of an agent; or `debate/` and a preset, such as `debate/vote`."""
    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=10_000)]
    """What was said so far, and a question at its end. What the system says is added to the
    user's own words: the agent's instructions stay as they are."""
    stream: Switch | None = None
    stream_options: StreamOptionsIn | None = None
    max_tokens: Annotated[int, Field(strict=True, ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(strict=True, ge=1)] | None = None
    """Of each answer of an agent's model; never more than the agent's own. What a debate answers is
    cut off there; what its voices say has a cap of its own."""
    n: Annotated[int, Field(strict=True, ge=1)] | None = None
    response_format: dict[str, JsonValue] | None = None
    tools: JsonValue = None
    functions: JsonValue = None
    stop: JsonValue = None
    logprobs: JsonValue = None
    audio: JsonValue = None

    @property
    def with_usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    @property
    def most_output(self) -> int | None:
        return _least(self.max_tokens, self.max_completion_tokens)

    def question(self, *, again: bool, key: str | None) -> Question:
        """Raises `NotSupported`, `NotAnAgent`, `NoQuestion`."""
        agent = agent_named(self.model)
        self._check()
        said = [*_said(self.messages)]
        if not said or not isinstance(said[-1], UserMessage) or not said[-1].text:
            raise NoQuestion
        wishes = [text for each in self.messages if _is_wish(each) and (text := _text(each, 0))]
        earlier = said[-2] if len(said) > 1 else None
        *history, question = with_wishes(wishes, told_before(said))
        return Question(
            agent=agent,
            message=question.text,
            history=tuple(history),
            left_off=left_off(earlier.text) if isinstance(earlier, AssistantMessage) else None,
            key=question_key(agent, with_wishes(wishes, said)) if key is None else key,
            keyed=key is not None,
            again=again,
            max_output_tokens=self.most_output,
        )

    def debate_wish(self, preset: Preset, key: str | None) -> DebateSpec:
        """What was said before is what the question is about. Raises `NotSupported`,
        `NoQuestion`."""
        self._check()
        said = [*_said(self.messages)]
        if not said or not isinstance(said[-1], UserMessage) or not said[-1].text:
            raise NoQuestion
        asked = max(number for number, each in enumerate(self.messages) if each.role == "user")
        others = [each for number, each in enumerate(self.messages) if number != asked]
        before = [f"{_speaker(each)}: {text}" for each in others if (text := _text(each, 0))]
        return DebateSpec(
            question=said[-1].text, preset=preset, material="\n\n".join(before), key=key
        )

    def _check(self) -> None:
        """Raises `NotSupported`."""
        for name, why in _REFUSED.items():
            if getattr(self, name) not in _NOTHING:
                raise NotSupported(name, why)
        if self.n not in {None, 1}:
            raise NotSupported("n", "an agent gives one answer")
        if self.response_format and self.response_format.get("type") != "text":
            raise NotSupported("response_format", "an agent is held to no form from outside")


class NotAnAgent(PorticoError):
    kind = Kind.NOT_FOUND
    code = "model_not_found"
    title = "No such model"

    def __init__(self, model: str) -> None:
        super().__init__(
            f"There is no model {model[:200]!r} here.",
            fix="GET /v1/models lists those there are: agent/NAME for each agent, and for each way "
            "to debate debate/PRESET.",
        )
        self.model = model


class NoQuestion(PorticoError):
    kind = Kind.INVALID
    code = "no_question"
    title = "Nothing is asked"
    fix = "Let the last of the messages be the user's, with some text."

    def __init__(self) -> None:
        super().__init__("The last message is not one of the user's with text in it.")


def agent_named(model: str) -> str:
    """Raises `NotAnAgent`."""
    name = model.removeprefix(PREFIX)
    if name == model or not name:
        raise NotAnAgent(model)
    return name


def preset_named(model: str) -> Preset | None:
    """None of what is no debate. Raises `NotAnAgent`."""
    name = model.removeprefix(DEBATE)
    if name == model:
        return None
    try:
        return Preset(name)
    except ValueError as error:
        raise NotAnAgent(model) from error


def _said(messages: list[MessageIn]) -> Iterator[ModelMessage]:
    for number, each in enumerate(messages):
        if each.role in {"tool", "function"} or each.tool_calls not in _NOTHING:
            raise NotSupported(f"messages.{number}", _REFUSED["tools"])
        if each.role == "user":
            yield UserMessage(_text(each, number))
        elif each.role == "assistant":
            yield AssistantMessage(_text(each, number))


def _speaker(message: MessageIn) -> str:
    return _SPEAKERS.get(message.role, "The program that asks")


def _is_wish(message: MessageIn) -> bool:
    return message.role in {"system", "developer"}


def _text(message: MessageIn, number: int) -> str:
    match message.content:
        case None:
            return ""
        case str(text):
            return text
        case parts:
            return "\n".join(_part(each, number) for each in parts)


def _part(part: PartIn, number: int) -> str:
    if part.type not in {"text", "input_text", "output_text"} or part.text is None:
        raise NotSupported(f"messages.{number}.content", "an agent reads text and nothing else")
    return part.text


def _least(*limits: int | None) -> int | None:
    return min((each for each in limits if each is not None), default=None)
