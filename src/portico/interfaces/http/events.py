"""Events over REST: as a stream while they happen, or page by page."""

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import AfterValidator, BaseModel, JsonValue
from starlette.responses import JSONResponse, Response

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.event_log import Positions
from portico.engine.event_log import Subscription, Tails
from portico.engine.runs import LAST_WORDS
from portico.interfaces.http.authentication import Caller, CallerAgain
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import DEFAULT_LIMIT, Limit, RunIdPath
from portico.interfaces.http.streaming import (
    END,
    HEARTBEAT,
    MEDIA_TYPE,
    Connection,
    Lasting,
    Manners,
    event_json,
    retry_after,
)
from portico.interfaces.http.use_cases import Use
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_numbers: Final = itertools.count()

Still = Callable[[Principal, Label], Awaitable[None]]
"""Whether somebody may still watch, who had this clearance. Raises what says that they may not."""


class EventStream(Lasting):
    def __init__(
        self,
        asked: "StreamDependencies",
        positions: Positions,
        still: Still,
        *,
        ends_with_run: bool,
    ) -> None:
        super().__init__(asked.manners)
        self._tails = asked.tails
        self._caller = asked.caller
        self._again = asked.again
        self._positions = positions
        self._still = still
        self._ends_with_run = ends_with_run

    async def stream(self, connection: Connection) -> None:
        # Not all at once: those who are let go together do not come again together.
        await connection.send(retry_after(1000 + next(_numbers) * 37 % 2000))
        caller: Principal | None = self._caller
        positions = self._positions
        while caller is not None:
            async with self._tails.follow(caller, positions) as subscription:
                connection.follows(subscription)
                caller = await self._follow(connection, caller, subscription)
                positions = subscription.positions

    async def _follow(
        self, connection: Connection, caller: Principal, subscription: Subscription
    ) -> Principal | None:
        """Until there is nothing more, or the caller may see more or less than before."""
        while not (connection.left or subscription.broken):
            if connection.heartbeat_due():
                now = await self._asked_again(caller)
                if now is None or now.clearance != caller.clearance:
                    return now
                await connection.send(HEARTBEAT)
            try:
                told = await subscription.more()
            except StoreUnavailable:
                return None
            if told:
                await connection.send(told)
            elif self._ends_with_run and subscription.last in LAST_WORDS:
                await connection.send(END)
                return None
            else:
                await subscription.stirred()
        return None

    async def _asked_again(self, caller: Principal) -> Principal | None:
        try:
            now = (await self._again()).principal
            await self._still(now, caller.clearance)
        except StoreUnavailable:
            return caller  # nobody can tell, and nothing is told meanwhile either
        except PorticoError:
            return None
        return now


@dataclass(frozen=True, slots=True)
class StreamDependencies:
    """What every stream needs, whatever is watched."""

    tails: Tails
    manners: Manners
    caller: Principal
    again: CallerAgain

    def of_run(self, positions: Positions, still: Still) -> EventStream:
        return EventStream(self, positions, still, ends_with_run=True)

    def of_topics(self, positions: Positions, still: Still) -> EventStream:
        return EventStream(self, positions, still, ends_with_run=False)


def _asked(request: Request, use: Use, caller: Caller, again: CallerAgain) -> StreamDependencies:
    return StreamDependencies(use.tails, request.app.state.manners, caller, again)


Streams = Annotated[StreamDependencies, Depends(_asked)]

_MOST_TOPICS: Final = 200


def _are_topics(text: str) -> str:
    topics = text.split(",")
    if len(topics) > _MOST_TOPICS or not all(1 <= len(topic) <= 200 for topic in topics):
        raise ValueError(f"must be one to {_MOST_TOPICS} topics, with commas between them")
    return text


_Topics = Annotated[
    str,
    Query(
        pattern="^[!-~]+$",
        max_length=20_000,
        description="Topics with commas between them: `runs`, or the id of a run.",
    ),
    AfterValidator(_are_topics),
]
_AfterQuery = Annotated[
    str | None, Query(max_length=4000, description="`id` of the last event one has had.")
]
_LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        max_length=4000,
        description="As `after`, and wins over it: what an EventSource sends by itself.",
    ),
]


def _cursor(after: _AfterQuery = None, last_event_id: _LastEventId = None) -> str | None:
    return last_event_id or after or None


def _as_page(accept: Annotated[str, Header(include_in_schema=False)] = "") -> bool:
    return "application/json" in accept and MEDIA_TYPE not in accept


_After = Annotated[str | None, Depends(_cursor)]
_AsPage = Annotated[bool, Depends(_as_page)]


class EventOut(BaseModel, title="EventOut"):
    topic: str
    type: str
    at: datetime
    by: str | None
    label: str
    facts: dict[str, JsonValue]


class EventsOut(BaseModel, title="EventsOut"):
    data: list[EventOut]
    next: str | None
    """Where to go on, also when there was nothing yet; null when the run has ended."""
    reset: bool
    """Where one stood is not kept any more: something may be missing."""


_STREAM: Final[dict[str, Any]] = {MEDIA_TYPE: {"schema": {"type": "string"}}}
_OVER: Final[dict[str, Any]] = {"description": "The run has ended, and `after` was its last event."}

router = APIRouter(tags=["events"])


@router.get(
    "/runs/{run_id}/events",
    name="watch_run",
    response_class=Response,
    responses={
        **documented(404),
        200: {
            "description": "A stream; or with `Accept: application/json` a page.",
            "model": EventsOut,
            "content": _STREAM,
        },
        204: _OVER,
    },
)
async def watch_run(
    use: Use,
    streams: Streams,
    run_id: RunIdPath,
    *,
    after: _After,
    as_page: _AsPage,
    limit: Limit = DEFAULT_LIMIT,
) -> Response:
    """What happens to a run, to its end, from where one left off."""
    run = RunId.parse(run_id)
    if as_page:
        page = await use.read_run_events(streams.caller, run, after, limit)
        data = [event_json(entry) for entry in page.entries]
        return JSONResponse({"data": data, "next": page.next, "reset": page.trimmed})
    positions = await use.watch_run(streams.caller, run, after)
    if positions is None:
        return Response(status_code=204)
    return streams.of_run(positions, partial(use.watch_run.again, run))


@router.get(
    "/events",
    name="watch_topics",
    response_class=Response,
    responses={**documented(), 200: {"description": "A stream.", "content": _STREAM}},
)
async def watch_topics(use: Use, streams: Streams, topics: _Topics, after: _After) -> Response:
    """What happens in several topics at once: one stream for all that a page shows."""
    each_once = dict.fromkeys(topics.split(","))
    positions = use.watch_topics(streams.caller, each_once, after)
    return streams.of_topics(positions, use.watch_topics.again)
