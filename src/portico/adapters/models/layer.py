"""Models of vendors and of servers that speak as they do, by pydantic-ai's model layer alone.

Importing this takes seconds, so it is done when a model is first asked.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import httpx2
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models import StreamedResponse

from portico.adapters.models.connection import Connection
from portico.adapters.models.failures import (
    Answered,
    late,
    message_in,
    overflow,
    refusal,
    shown,
    torn,
)
from portico.adapters.models.incoming import CallIds
from portico.adapters.models.parts import Incoming
from portico.adapters.models.provider import Provider
from portico.adapters.models.translation import history, parameters, settings
from portico.adapters.models.vendors import model_of
from portico.agents.core.errors import ModelBroke, ModelRefused
from portico.agents.core.model_calls import Sent
from portico.agents.core.model_requests import ModelAsk, Piece, Reply
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.errors import PorticoError

_LETTERS: Final = 32
"""Of a token, at the very most, over a whole answer."""
_SOME: Final = 10_000


@dataclass(frozen=True, slots=True)
class LayerModels:
    clock: Clock
    entropy: Entropy

    async def ask(self, there: Connection, ask: ModelAsk) -> AsyncGenerator[Piece, None]:
        """Raises what `Models.ask` does."""
        time = asyncio.get_running_loop().time
        began, first = time(), None
        until = began + ask.timeout.total_seconds()
        try:
            async with aclosing(self._pieces(there, ask, until)) as pieces:
                async for piece in pieces:
                    first = first or time()
                    yield _timed(piece, began, first, time()) if isinstance(piece, Reply) else piece
        except (ModelAPIError, UnexpectedModelBehavior, UserError) as error:
            raise self._told(there.provider, ask, error, begun=first is not None) from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise torn(there.provider, str(ask.model), error, begun=first is not None) from error
        except TimeoutError as error:
            raise late(str(ask.model), ask.timeout) from error

    async def _pieces(
        self, there: Connection, ask: ModelAsk, until: float
    ) -> AsyncGenerator[Piece, None]:
        kind = there.provider.kind
        ids = CallIds.after(ask.messages, self.entropy)
        incoming = Incoming(ids, ask.most_output * _LETTERS + _SOME)
        stream = model_of(there, ask.model.name).request_stream(
            history(ask.messages, kind), settings(ask), parameters(ask)
        )
        async with AsyncExitStack() as open_:
            async with asyncio.timeout_at(until):
                answer = await open_.enter_async_context(stream)
            async with aclosing(_events(answer, until)) as events:
                async for event in events:
                    for piece in incoming.pieces(event):
                        yield piece
            reply = incoming.reply(answer.get(), kind)
        yield _held_against(ask, reply)

    def _told(
        self, provider: Provider, ask: ModelAsk, error: Exception, *, begun: bool
    ) -> PorticoError:
        model = str(ask.model)
        match error:
            case ModelContextWindowExceededError():
                return overflow(model, _said(error.body))
            case ModelQuotaExceededError():
                return ModelRefused(model, "it is not paid for.", fix="See its account.")
            case ModelHTTPError():
                answered = Answered(
                    status=error.status_code,
                    said=_said(error.body),
                    headers=error.headers or {},
                    at=self.clock.now(),
                )
                return refusal(provider, model, answered)
            case ModelConnectionError():
                return torn(provider, model, error, begun=begun)
            case UserError():
                return ModelRefused(model, f"{shown(str(error))}.")
            case _:
                return ModelBroke(model, "what came is no answer, or ended in the middle of one.")


async def _events(
    answer: StreamedResponse, until: float
) -> AsyncGenerator[ModelResponseStreamEvent, None]:
    """Raises `TimeoutError`."""
    events = aiter(answer)
    while True:
        async with asyncio.timeout_at(until):
            event = await anext(events, None)
        if event is None:
            return
        yield event


def _held_against(ask: ModelAsk, reply: Reply) -> Reply:
    """Some servers leave out the middle of what is too long for them, and say nothing but the
    number of tokens that they have read. Others do not count what they knew already."""
    sent, read = Sent(all=ask.prompt_tokens, largest=ask.prompt_tokens), reply.usage.input
    if not reply.usage.reported or read >= sent.fewest:
        return reply
    note = (
        f"Its server says that it has read {read:,} tokens of about {sent.all:,}: it may not have "
        "read all of it."
    )
    return replace(reply, notes=(*reply.notes, note))


def _timed(reply: Reply, began: float, first: float, ended: float) -> Reply:
    return replace(
        reply,
        first_piece=timedelta(seconds=first - began),
        took=timedelta(seconds=ended - began),
    )


def _said(body: object) -> str:
    match body:
        case str():
            return body
        case dict():
            return message_in(body) or message_in({"error": body})
        case _:
            return ""
