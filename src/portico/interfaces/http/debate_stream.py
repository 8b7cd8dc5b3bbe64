"""What happens in a debate as server-sent events: each voice, each round, and how it stands."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from portico.debate.core.debates import DebateId
from portico.debate.core.events import Told, happening_json
from portico.interfaces.http.debate_use_cases import Debates
from portico.interfaces.http.problems import documented
from portico.interfaces.http.sse import END, MEDIA_TYPE, one_line, retry_after
from portico.interfaces.http.talk_stream import Listening, TalkStream
from portico.interfaces.http.words import DebateIdPath
from portico.kernel.errors import PorticoError

_STREAM: Final[dict[str, Any]] = {MEDIA_TYPE: {"schema": {"type": "string"}}}

router = APIRouter(prefix="/debates", tags=["debates"])


@router.get(
    "/{debate}/events",
    name="follow_debate",
    response_class=Response,
    responses={**documented(404), 200: {"description": "A stream.", "content": _STREAM}},
)
async def follow_debate(
    debates: Debates,
    listener: Listening,
    debate: DebateIdPath,
    after: Annotated[
        str | None, Query(max_length=4000, description="`id` of the last event one has had.")
    ] = None,
    last_event_id: Annotated[
        str | None,
        Header(alias="Last-Event-ID", max_length=4000, description="As `after`, and wins over it."),
    ] = None,
) -> Response:
    """What is said and done in it, to its end, from where one left off."""
    its = DebateId.parse(debate)
    await debates.look.one(listener.caller, its)
    told = debates.follow_debate(listener.caller, its, after=last_event_id or after or None)
    return TalkStream(listener, told, DebateTelling())


@dataclass(frozen=True, slots=True)
class DebateTelling:
    """The `Telling` of those who know our own words."""

    @property
    def waits(self) -> bool:
        return False

    def begun(self) -> bytes:
        return retry_after(1000)

    def told(self, told: Told) -> bytes:
        name, facts = happening_json(told.happening)
        mark = f"id: {told.cursor}\n" if told.cursor else ""
        text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"), default=dict)
        return f"{mark}event: {name}\ndata: {one_line(text)}\n\n".encode(errors="backslashreplace")

    def gave_up(self) -> bytes:
        return b""

    def broke(self, error: PorticoError) -> bytes:
        text = json.dumps({"code": error.code, "detail": str(error), "fix": error.fix})
        return f"event: error\ndata: {text}\n\n".encode()

    def ended(self) -> bytes:
        return END
