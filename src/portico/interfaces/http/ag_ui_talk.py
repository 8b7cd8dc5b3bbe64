"""One request of an AG-UI client, answered: a run that is started, or one that goes on with what
somebody has answered."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    RunAgentInput,
    RunErrorEvent,
    RunStartedEvent,
)
from fastapi.exceptions import RequestValidationError
from pydantic import JsonValue, ValidationError
from starlette.responses import Response

from portico.agents.core.events import Told
from portico.interfaces.http.ag_ui_bodies import answers, left_away, question_of
from portico.interfaces.http.ag_ui_events import AgUiEvents, Talk
from portico.interfaces.http.agent_run_use_cases import AgentRunUseCases
from portico.interfaces.http.sse import MEDIA_TYPE, one_line
from portico.interfaces.http.talk_stream import Listener, TalkStream
from portico.kernel.errors import PorticoError

_SETTLES: Final = 0.5
"""Seconds after which a run that waits is taken to wait: what has been answered long since is told
a moment after what was asked, and what is asked at once is asked together."""


@dataclass(frozen=True, slots=True)
class AgUiTelling:
    events: AgUiEvents

    @property
    def waits(self) -> bool:
        return self.events.waits

    def begun(self) -> bytes:
        return _sent(self.events.begun())

    def told(self, told: Told) -> bytes:
        return _sent(self.events.hear(told.happening))

    def gave_up(self) -> bytes:
        return _sent(self.events.interrupted())

    def broke(self, error: PorticoError) -> bytes:
        return _sent([self.events.error(_told(error), error.code)])

    def ended(self) -> bytes:
        return _sent(self.events.broken_off())


async def answered(
    runs: AgentRunUseCases, listener: Listener, agent: str, body: dict[str, JsonValue]
) -> Response:
    """Raises `RequestValidationError`, and what starting a run raises; of what is wrong with an
    answer a client hears as it expects, in the stream."""
    asked = _decoded(body)
    try:
        talk = await _talk(runs, listener, agent, asked)
    except PorticoError as error:
        if not asked.resume:
            raise
        return Response(_sent(_refusal(asked, error)), media_type=MEDIA_TYPE)
    told = runs.follow_run(listener.caller, talk.run)
    return TalkStream(listener, told, AgUiTelling(AgUiEvents(talk=talk)), patience=_SETTLES)


async def _talk(
    runs: AgentRunUseCases, listener: Listener, agent: str, asked: RunAgentInput
) -> Talk:
    notes = tuple(left_away(asked))
    if not asked.resume:
        taken = await runs.take_question(listener.caller, question_of(agent, asked))
        return Talk(thread=asked.thread_id, name=asked.run_id, run=taken.run, notes=notes)
    run, replies = answers(asked.resume)
    left = await runs.answer_interrupts(listener.caller, run, agent, replies)
    return Talk(
        thread=asked.thread_id,
        name=asked.run_id,
        run=run,
        past=frozenset(approval for approval, _ in replies),
        left={approval: _told(error) for approval, error in left.items()},
        notes=notes,
    )


def _decoded(body: dict[str, JsonValue]) -> RunAgentInput:
    if not _can_be_kept(body):
        told = {"type": "value_error", "loc": ("body",), "msg": "must be text, without NUL"}
        raise RequestValidationError([told])
    try:
        return RunAgentInput.model_validate(body)
    except ValidationError as error:
        found = [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]
        raise RequestValidationError(found) from error


def _can_be_kept(value: JsonValue) -> bool:
    """Neither NUL nor half of a surrogate pair is text to those who keep it."""
    match value:
        case str():
            return "\0" not in value and value == value.encode(errors="replace").decode()
        case dict():
            return all(_can_be_kept(each) for each in (*value.keys(), *value.values()))
        case list():
            return all(_can_be_kept(each) for each in value)
        case _:
            return True


def _refusal(asked: RunAgentInput, error: PorticoError) -> Iterator[BaseEvent]:
    yield RunStartedEvent(
        thread_id=asked.thread_id, run_id=asked.run_id, protocol_version=PROTOCOL_VERSION
    )
    yield RunErrorEvent(message=_told(error), code=error.code)


def _told(error: PorticoError) -> str:
    return " ".join(part for part in (str(error), error.fix) if part)


def _sent(events: Iterable[BaseEvent]) -> bytes:
    told = (one_line(each.model_dump_json(by_alias=True)) for each in events)
    return b"".join(f"data: {each}\n\n".encode() for each in told)
