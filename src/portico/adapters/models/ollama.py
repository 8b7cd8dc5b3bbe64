"""Ollama by its own protocol, since only there can one say how much it is to read, and see whether
it has: the one that it has in common with others cuts prompts without a word."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

import httpx2

from portico.adapters.models.connection import Connection
from portico.adapters.models.failures import (
    Answered,
    late,
    message_in,
    overflow,
    refusal,
    too_long,
    torn,
    why,
)
from portico.adapters.models.incoming import CallIds
from portico.adapters.models.ollama_answer import OllamaAnswer, lines_of, next_chunk, now
from portico.adapters.models.ollama_facts import Facts, OllamaFacts
from portico.adapters.models.ollama_wire import Chunk, chat
from portico.agents.core.errors import (
    ModelBroke,
    ModelOverflow,
    ModelTruncated,
    ModelUnavailable,
)
from portico.agents.core.model_calls import Reading, Sent, Told, more_room, reading, wanted_room
from portico.agents.core.model_requests import ModelAsk, ModelSaid, Piece
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.tokens import Tokenizer
from portico.sandbox.core.errors import AddressRefused

NOT_COUNTED: Final = (
    "Its server does not say how much of the prompt it has read, so nobody can tell whether it was "
    "all of it."
)
_CONNECT: Final = 10.0
_PLAIN: Final = 10
"""A text is plain if it has ten letters for each byte that is beyond ASCII."""


@dataclass(frozen=True, slots=True)
class OllamaModels:
    facts: OllamaFacts
    tokenizer: Tokenizer
    clock: Clock
    entropy: Entropy
    _rooms: dict[tuple[str, str], int] = field(default_factory=dict)
    """What a model was given last, by its server and name: with less it would be loaded anew."""

    async def ask(self, there: Connection, ask: ModelAsk) -> AsyncGenerator[Piece, None]:
        """Raises what `Models.ask` does."""
        until = asyncio.get_running_loop().time() + ask.timeout.total_seconds()
        facts = await self.facts.of(there, ask.model.name)
        room: int | None = self._room(there, ask, facts)
        begun = False
        while room is not None:
            round_, room = _Round(facts, room, until), None
            try:
                async with aclosing(self._pieces(there, ask, round_)) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
            except ModelOverflow:
                # It may only have been given too little for what it counts otherwise than we do.
                room = more_room(round_.room, _roughly(ask), ask.most_output, limit=facts.limit)
                if room is None or begun:
                    raise
                self._rooms[_place(there, ask)] = room

    def _room(self, there: Connection, ask: ModelAsk, facts: Facts) -> int:
        """Raises `ModelOverflow`."""
        sent = _roughly(ask)
        if facts.limit is not None and sent.fewest > facts.limit:
            raise ModelOverflow(
                str(ask.model),
                f"about {sent.all:,} tokens, and it has room for {facts.limit:,}.",
                fix="Say it in fewer words, or choose a model with a larger window.",
            )
        wanted = max(
            wanted_room(sent, ask.most_output, limit=facts.limit),
            min(ask.window or 0, facts.limit or ask.window or 0),
        )
        room = max(wanted, self._rooms.get(_place(there, ask), 0))
        self._rooms[_place(there, ask)] = room
        return room

    async def _pieces(
        self, there: Connection, ask: ModelAsk, round_: "_Round"
    ) -> AsyncGenerator[Piece, None]:
        answer = OllamaAnswer(CallIds.after(ask.messages, self.entropy), now())
        model = str(ask.model)
        try:
            async with self._asked(there, ask, round_) as lines:
                while (chunk := await next_chunk(lines, model, round_.until)) is not None:
                    for piece in answer.pieces(chunk):
                        yield piece
                    if chunk.done:
                        break
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise torn(there.provider, model, error, begun=answer.first is not None) from error
        except AddressRefused as error:
            raise ModelUnavailable(model, f"{why(error)}.", fix=error.fix) from error
        except TimeoutError as error:
            raise late(model, ask.timeout) from error
        last = answer.last
        if last is None:
            raise ModelBroke(model, "it ended without saying that it had.")
        yield answer.reply(last, self._notes(there, ask, round_, last))

    @asynccontextmanager
    async def _asked(
        self, there: Connection, ask: ModelAsk, round_: "_Round"
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Its answer, line by line. Raises what `Models.ask` does, and `httpx2.HTTPError`."""
        request = there.client.build_request(
            "POST",
            f"{there.provider.url}/api/chat",
            json=chat(ask, room=round_.room, thinks=round_.facts.thinks),
            headers=there.authorization,
            timeout=httpx2.Timeout(ask.timeout.total_seconds(), connect=_CONNECT),
        )
        async with asyncio.timeout_at(round_.until):
            response = await there.client.send(request, stream=True)
        try:
            if response.status_code != httpx2.codes.OK:
                async with asyncio.timeout_at(round_.until):
                    await response.aread()
                raise self._refusal(there, ask, response)
            yield lines_of(response.aiter_bytes())
        finally:
            await response.aclose()

    def _refusal(self, there: Connection, ask: ModelAsk, response: httpx2.Response) -> Exception:
        said, model = _said(response), str(ask.model)
        if too_long(said):
            return overflow(model, said)
        answered = Answered(
            status=response.status_code,
            said=said,
            headers={name.lower(): value for name, value in response.headers.items()},
            at=self.clock.now(),
        )
        return refusal(there.provider, model, answered)

    def _notes(
        self, there: Connection, ask: ModelAsk, round_: "_Round", last: Chunk
    ) -> tuple[str, ...]:
        """Raises `ModelTruncated`."""
        sent = _roughly(ask)
        if sent.most > round_.room:
            sent = replace(sent, largest=self._largest(ask))
        told = Told(
            read=last.prompt_eval_count,
            written=last.eval_count or 0,
            room=round_.room,
            counts_cached=round_.facts.counts_cached,
        )
        match reading(sent, told):
            case Reading.WHOLE:
                return ()
            case Reading.UNKNOWN:
                return (NOT_COUNTED,)
            case Reading.CUT:
                limit = round_.facts.limit
                larger = more_room(round_.room, sent, ask.most_output, limit=limit)
                self._rooms[_place(there, ask)] = larger or round_.room
                raise ModelTruncated(
                    str(ask.model),
                    sent.all,
                    last.prompt_eval_count or 0,
                    fix="Ask again: it will be given more room."
                    if larger
                    else "Say it in fewer words, choose a model with a larger window, or bring "
                    "Ollama up to date: newer ones say so before they answer.",
                )

    def _largest(self, ask: ModelAsk) -> int:
        shown = "".join(
            f"{tool.name}{tool.description}{json.dumps(tool.schema)}" for tool in ask.tools
        )
        return max(
            (self.tokenizer.count(text) for text in [ask.instructions + shown, *_texts(ask)]),
            default=0,
        )


@dataclass(frozen=True, slots=True)
class _Round:
    facts: Facts
    room: int
    until: float


def _said(response: httpx2.Response) -> str:
    try:
        return message_in(response.json())
    except ValueError:
        return response.text[:500]


def _texts(ask: ModelAsk) -> list[str]:
    """Of each message, its calls included."""
    return [
        message.text + json.dumps([call.arguments for call in message.calls])
        if isinstance(message, ModelSaid)
        else message.text
        for message in ask.messages
    ]


def _roughly(ask: ModelAsk) -> Sent:
    """As if it were one piece."""
    texts = [ask.instructions, *_texts(ask)]
    letters = sum(map(len, texts))
    others = sum(len(text.encode(errors="replace")) for text in texts) - letters
    return Sent(
        all=ask.prompt_tokens,
        largest=ask.prompt_tokens,
        plain=others * _PLAIN <= letters,
    )


def _place(there: Connection, ask: ModelAsk) -> tuple[str, str]:
    return there.provider.url, ask.model.name
