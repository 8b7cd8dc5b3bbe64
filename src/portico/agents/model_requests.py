"""Models: list and test."""

import json
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from portico.agents.core.errors import ModelBroke
from portico.agents.core.model_requests import (
    ASKS_FOR_FORM,
    ASKS_FOR_TOOL,
    FORM,
    QUESTION,
    WEATHER,
    ModelAsk,
    ModelInfo,
    ModelRef,
    ModelTest,
    ProviderState,
    Reply,
    Support,
    TextChunk,
    ToolShown,
    UserMessage,
)
from portico.agents.ports import ModelRegistry, Models
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

# Which models there are, what is known of one, and whether those who provide them answer.


@dataclass(frozen=True, slots=True, kw_only=True)
class ListModels:
    book: ModelRegistry

    async def __call__(self, caller: Principal, *, fresh: bool = False) -> Sequence[ModelInfo]:
        """By name. Raises `NotPermitted`."""
        require_scope(caller, Scope.MODELS_READ)
        return sorted(await self.book.all(caller, fresh=fresh), key=_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowModel:
    book: ModelRegistry

    async def __call__(self, caller: Principal, ref: ModelRef) -> ModelInfo:
        """Raises `NotPermitted`, `ProviderNotFound`, `ModelNotFound`, `ModelUnavailable`."""
        require_scope(caller, Scope.MODELS_READ)
        return await self.book.get(caller, ref)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListProviders:
    book: ModelRegistry

    async def __call__(self, caller: Principal, *, fresh: bool = False) -> Sequence[ProviderState]:
        """Raises `NotPermitted`."""
        require_scope(caller, Scope.MODELS_READ)
        return await self.book.providers(caller, fresh=fresh)


def _name(model: ModelInfo) -> str:
    return str(model.ref)


_PATIENCE: Final = timedelta(minutes=2)
_MOST_OUTPUT: Final = 200
_PROMPT: Final = 150
"""Tokens of the longest of its questions, with the tool, generously."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestModel:
    book: ModelRegistry
    models: Models

    async def __call__(self, caller: Principal, ref: ModelRef) -> ModelTest:
        """What it does not do is found, not raised. It costs what three short questions cost.

        Raises `NotPermitted`, `ProviderNotFound`, `ModelNotFound`, `ModelUnavailable`.
        """
        require_scope(caller, Scope.AGENTS_RUN)
        info = await self.book.get(caller, ref)
        tested = await self._spoken_to(caller, info)
        if not tested.answers:
            return tested
        return replace(
            tested,
            calls_tools=await self._calls(caller, info),
            holds_to_form=await self._holds(caller, info),
        )

    async def _spoken_to(self, caller: Principal, info: ModelInfo) -> ModelTest:
        try:
            pieces, reply = await self._asked(caller, info, QUESTION)
        except PorticoError as error:
            return ModelTest(info=info, answers=False, problem=str(error), fix=error.fix)
        streamed = reply.took - (reply.first_piece or timedelta(0))
        seconds, written = streamed.total_seconds(), reply.usage.output
        return ModelTest(
            info=info,
            answers=bool(reply.text or reply.thought),
            streams=pieces > 1,
            usage_reported=reply.usage.reported,
            first_piece=reply.first_piece,
            tokens_a_second=written / seconds if seconds > 0 and written else None,
            took=reply.took,
            notes=reply.notes,
            problem=None if reply.text or reply.thought else "It says nothing.",
        )

    async def _calls(self, caller: Principal, info: ModelInfo) -> Support:
        try:
            _, reply = await self._asked(caller, info, ASKS_FOR_TOOL, tools=[WEATHER])
        except PorticoError:
            return Support.NO
        called = any(call.name == WEATHER.name and "city" in call.arguments for call in reply.calls)
        return Support.YES if called else Support.NO

    async def _holds(self, caller: Principal, info: ModelInfo) -> Support:
        try:
            _, reply = await self._asked(caller, info, ASKS_FOR_FORM, schema=FORM)
        except PorticoError:
            return Support.NO
        try:
            answer = json.loads(reply.text)
        except ValueError:
            return Support.NO
        held = isinstance(answer, dict) and [*answer] == ["city"]
        return Support.YES if held else Support.NO

    async def _asked(
        self,
        caller: Principal,
        info: ModelInfo,
        question: str,
        *,
        tools: Sequence[ToolShown] = (),
        schema: JsonObject | None = None,
    ) -> tuple[int, Reply]:
        """In how many pieces of text it came, and all of it."""
        ask = ModelAsk(
            model=info.ref,
            instructions="",
            messages=[UserMessage(question)],
            tools=tools,
            schema=schema,
            max_output_tokens=min(_MOST_OUTPUT, info.max_output_tokens or _MOST_OUTPUT),
            prompt_tokens=_PROMPT,
            timeout=_PATIENCE,
        )
        pieces, reply = 0, None
        async with aclosing(self.models.ask(caller, ask)) as answer:
            async for piece in answer:
                pieces += isinstance(piece, TextChunk)
                if isinstance(piece, Reply):
                    reply = piece
        if reply is None:
            raise ModelBroke(str(info.ref), "it ended without saying that it had.")
        return pieces, reply
