"""Voices of a debate that are models: any of the agents' registry, asked once and held to what was
reserved for their answer."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from portico.adapters.cross_domain.debate_families import family_of
from portico.agents.core.budgets import WIDEST_MARGIN
from portico.agents.core.errors import (
    BadModelRef,
    ModelBroke,
    ModelKeyMissing,
    ModelNotFound,
    ModelOverflow,
    ModelRefused,
    ModelTruncated,
    ModelUnavailable,
    ProviderNotFound,
)
from portico.agents.core.model_requests import (
    Finish,
    ModelAsk,
    ModelInfo,
    ModelRef,
    Piece,
    Support,
    TextPiece,
    Usage,
    UserSaid,
)
from portico.agents.model_calls import Hearing
from portico.agents.ports import ModelBook, Models
from portico.debate.core.debaters import Tariff, Voice, VoiceAsk, VoiceKind, VoiceReply, VoiceState
from portico.debate.core.errors import (
    VoiceAway,
    VoiceBroke,
    VoiceNotCleared,
    VoiceNotFound,
    VoiceRefused,
)
from portico.kernel.budget import NOTHING, Cost
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokenizer

USUAL_OUTPUT: Final = 1_024
"""Tokens of one answer, where the model can say as much."""
_AWAY: Final = (ModelUnavailable, ModelKeyMissing, ProviderNotFound, ModelNotFound, BadModelRef)
_REFUSED: Final = (ModelRefused, ModelOverflow)
_BROKE: Final = (ModelBroke, ModelTruncated)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelVoices:
    book: ModelBook
    models: Models
    tokenizer: Tokenizer
    clock: Clock

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[VoiceState]:
        """Whoever provides them and does not answer is said in the list of providers, not here."""
        known = await self.book.all(caller, fresh=fresh)
        return [VoiceState(voice=model_voice(each), available=True) for each in known]

    async def named(self, caller: Principal, target: str) -> Voice:
        """Raises `VoiceNotFound`, `VoiceAway`."""
        try:
            return model_voice(await self.book.get(caller, ModelRef.parse(target)))
        except (BadModelRef, ModelNotFound, ProviderNotFound) as error:
            raise VoiceNotFound(target) from error
        except (ModelUnavailable, ModelKeyMissing) as error:
            if await self._lists_others(caller, target):
                raise VoiceNotFound(target) from error
            raise VoiceAway(target, _told(error)) from error

    async def _lists_others(self, caller: Principal, target: str) -> bool:
        """Its provider answers, and has not named it: it is taken for a slip of the pen, also where
        the provider cannot say that it has no such model."""
        provider = target.partition(":")[0]
        return any(each.ref.provider == provider for each in await self.book.all(caller))

    async def ask(
        self, caller: Principal, ask: VoiceAsk, hear: Callable[[str], None]
    ) -> VoiceReply:
        name = ask.voice.name
        try:
            info = await self.book.get(caller, ModelRef.parse(ask.voice.target))
        except _AWAY as error:
            raise VoiceAway(name, _told(error)) from error
        if not info.clearance.covers(ask.label):
            raise VoiceNotCleared(name, ask.label)
        hearing = _Listening.to(ask, self.tokenizer, self.clock, hear)
        try:
            await self._heard(caller, _asked(info, ask), hearing)
        except TimeoutError as error:
            seconds = ask.timeout.total_seconds()
            why = f"there was no whole answer within {seconds:.0f} seconds."
            raise VoiceBroke(name, why, _paid(ask, hearing)) from error
        except _AWAY as error:
            paid = _paid(ask, hearing) if hearing.hearing.begun else NOTHING
            raise VoiceAway(name, _told(error), paid) from error
        except _REFUSED as error:
            raise VoiceRefused(name, _told(error), NOTHING) from error
        except _BROKE as error:
            raise VoiceBroke(name, _told(error), _paid(ask, hearing)) from error
        return _replied(ask, hearing)

    async def _heard(self, caller: Principal, ask: ModelAsk, listening: "_Listening") -> None:
        """Raises `TimeoutError`, and what asking a model raises."""
        async with (
            asyncio.timeout(ask.timeout.total_seconds()),
            aclosing(self.models.ask(caller, ask)) as pieces,
        ):
            async for piece in pieces:
                if not listening.take(piece):
                    return
        raise ModelBroke(str(ask.model), "it ended without an end.")


def model_voice(info: ModelInfo) -> Voice:
    name = str(info.ref)
    return Voice(
        name=name,
        kind=VoiceKind.MODEL,
        target=name,
        family=family_of(info.ref.provider, info.ref.name),
        most_output=min(USUAL_OUTPUT, info.most_output or USUAL_OUTPUT),
        window=info.window,
        tariff=tariff_of(info),
        clearance=info.clearance,
    )


def tariff_of(info: ModelInfo) -> Tariff | None:
    price = info.price
    return None if price is None else Tariff(input=price.input, output=price.output)


@dataclass(slots=True)
class _Listening:
    """What is heard of one answer, and of its last piece as much as was still allowed."""

    hearing: Hearing
    hear: Callable[[str], None]
    rest: str = ""

    @classmethod
    def to(
        cls, ask: VoiceAsk, tokenizer: Tokenizer, clock: Clock, hear: Callable[[str], None]
    ) -> "_Listening":
        hearing = Hearing(
            most=ask.most_output,
            tokenizer=tokenizer,
            clock=clock,
            speaking=_Aloud(hear),
            called=_no_tools,
        )
        return cls(hearing, hear)

    def take(self, piece: Piece) -> bool:
        """Whether to go on listening."""
        its = self.hearing
        goes_on = its.take(piece)
        if its.cut and isinstance(piece, TextPiece):
            self.rest = self._fitting(piece.text)
            self.hear(self.rest)
        return goes_on

    @property
    def text(self) -> str:
        reply = self.hearing.reply
        return self.hearing.said.text + self.rest if reply is None else reply.text

    @property
    def read(self) -> int:
        """Tokens, by our count; of one that was cut off, all that it was allowed."""
        return self.hearing.most if self.hearing.cut else self.hearing.read

    def _fitting(self, piece: str) -> str:
        """As much of it as there is still room for; each half is looked at once."""
        its, low, high = self.hearing, 0, len(piece)
        room = its.most - its.read
        while low < high:
            middle = (low + high + 1) // 2
            if its.tokenizer.count(piece[:middle]) <= room:
                low = middle
            else:
                high = middle - 1
        return piece[:low]


@dataclass(frozen=True, slots=True)
class _Aloud:
    hear: Callable[[str], None]

    def add(self, piece: str) -> None:
        self.hear(piece)

    def think(self, piece: str) -> None:
        """It is paid for, and no part of the answer."""


def _no_tools(_place: int, _call: object) -> None:
    """It was shown none."""


def _asked(info: ModelInfo, ask: VoiceAsk) -> ModelAsk:
    """Only a server that is known to hold answers to a form is given one: others refuse it, or
    take it and do as they like. What it is to be is said in words in any case."""
    return ModelAsk(
        model=info.ref,
        instructions=ask.system,
        messages=[UserSaid(ask.prompt)],
        schema=ask.schema if info.structured is Support.YES else None,
        most_output=min(ask.most_output, info.most_output or ask.most_output),
        prompt_tokens=ask.prompt_tokens,
        timeout=ask.timeout,
    )


def _replied(ask: VoiceAsk, listening: _Listening) -> VoiceReply:
    """Raises `VoiceRefused`, `VoiceBroke`."""
    name, reply = ask.voice.name, listening.hearing.reply
    if reply is not None and reply.finish is Finish.FILTERED:
        why = "its server's filter let no answer through."
        raise VoiceRefused(name, why, _paid(ask, listening, reply.usage))
    if not listening.text.strip():
        why = "its answer is empty."
        raise VoiceBroke(name, why, _paid(ask, listening, None if reply is None else reply.usage))
    prompt, output = _tokens(ask, listening.read, None if reply is None else reply.usage)
    return VoiceReply(
        text=listening.text,
        prompt_tokens=prompt,
        output_tokens=output,
        cost=ask.voice.cost(prompt=prompt, output=output),
        cut=reply is None or reply.finish is Finish.LENGTH,
        model=ask.voice.target if reply is None else reply.model,
        notes=() if reply is None else reply.notes,
    )


def _tokens(ask: VoiceAsk, read: int, usage: Usage | None) -> tuple[int, int]:
    """What the server says or what we counted, whichever is more, as far as it can be believed."""
    said = usage if usage is not None and usage.reported else Usage(reported=False)
    most = ask.prompt_tokens * WIDEST_MARGIN // 100
    prompt = min(max(said.input, ask.prompt_tokens), most)
    return prompt, min(max(said.output, read), ask.most_output)


def _paid(ask: VoiceAsk, listening: _Listening, usage: Usage | None = None) -> Cost:
    prompt, output = _tokens(ask, listening.read, usage)
    return ask.voice.cost(prompt=prompt, output=output)


def _told(problem: PorticoError) -> str:
    return str(problem) if problem.fix is None else f"{problem} {problem.fix}"
