"""Ask a model for the next turn of a run: the one that was chosen, and where that does not answer,
the next in line. Each question is paid for before it is asked."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from portico.agents.core.answer import Answer, Asked, Ledger
from portico.agents.core.asking import Finish, ModelAsk, Reply, Usage
from portico.agents.core.calling import Wanted
from portico.agents.core.errors import (
    BadModelRef,
    BudgetSpent,
    ContextTooSmall,
    ModelBroke,
    ModelKeyMissing,
    ModelLacksTools,
    ModelNotCleared,
    ModelNotFound,
    ModelOverflow,
    ModelRefused,
    ModelTruncated,
    ModelUnavailable,
    ProviderNotFound,
)
from portico.agents.core.form import (
    correction,
    from_form,
)
from portico.agents.core.message import Message, ModelSaid, ToolCall
from portico.agents.core.model import ModelRef
from portico.agents.core.spending import Question, Reserved, Short
from portico.agents.hearing import Hearing
from portico.agents.ports import Models, Speaking, Talk
from portico.agents.prepare_question import Prepared, PrepareQuestion
from portico.agents.turn import Turn, note
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.tokens import Tokenizer

_TRIES: Final = 3
"""Of one model, in one turn."""
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
"""Seconds; whoever says to come back later than this is not waited for."""
_MODEL_PATIENCE: Final = timedelta(minutes=10)
"""For one whole answer, where the run has as much time."""

_PASSED_OVER: Final = (
    BadModelRef,
    BudgetSpent,
    ContextTooSmall,
    ModelBroke,
    ModelKeyMissing,
    ModelLacksTools,
    ModelNotCleared,
    ModelNotFound,
    ModelOverflow,
    ModelRefused,
    ModelTruncated,
    ModelUnavailable,
    ProviderNotFound,
)
"""What makes it ask the next model in line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskModel:
    models: Models
    prepare: PrepareQuestion
    talk: Talk
    tokenizer: Tokenizer
    clock: Clock
    entropy: Entropy
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep

    async def __call__(self, turn: Turn, ledger: Ledger) -> Asked:
        """It raises nothing that a model, its server or the budget is the cause of."""
        given = turn.leg.given
        chain = (given.model, *given.agent.spec.fallbacks)
        for place, name in enumerate(chain):
            try:
                answer = await self._asked(turn, ModelRef.parse(name), ledger)
            except _PASSED_OVER as problem:
                ledger.problems.append(problem)
                if place + 1 < len(chain):
                    what = f"{problem} Next: {chain[place + 1]}."
                    await note(self.talk, turn, ledger, "fallback", what)
                continue
            return Asked(answer, ledger)
        return Asked(None, ledger)

    async def _asked(self, turn: Turn, ref: ModelRef, ledger: Ledger) -> Answer:
        """As often as there is a point in it."""
        said: Sequence[Message] = ()
        for number in range(1, _TRIES + 1):
            try:
                prepared = await self.prepare(turn, ref, ledger, said)
                answer = await self._attempt(turn, prepared, ledger)
            except (ModelUnavailable, ModelBroke, ModelTruncated) as problem:
                pause = self._pause_after(problem, number)
                left = ledger.spending.time_left.total_seconds()
                last = _TRIES if not isinstance(problem, ModelTruncated) else 2
                if number >= last or pause is None or pause >= left:
                    raise
                await note(self.talk, turn, ledger, "retry", f"{problem} It is asked again.")
                await self._pause(ledger, pause)
                continue
            if not prepared.by_form or answer.stopped:
                return answer
            read = from_form(answer.text, f"form-{turn.number}")
            if isinstance(read, ModelSaid):
                return replace(answer, text=read.text, calls=read.calls, kept=None)
            if said:
                break
            said = (ModelSaid(answer.text), correction(read))
        raise ModelBroke(str(ref), "what it said was not of the form that it was to have.")

    async def _attempt(self, turn: Turn, prepared: Prepared, ledger: Ledger) -> Answer:
        reserved = self._reserved(prepared, ledger)
        ledger.attempts += 1
        leg, began = turn.leg, self.clock.now()
        async with self.talk.speaking(
            leg.writer, leg.run, turn=turn.number, attempt=ledger.attempts, label=turn.label
        ) as speaking:
            hearing = self._hearing(turn, prepared, reserved, speaking)
            try:
                await self._hear(turn, self._ask(turn, prepared, reserved), hearing)
                _speak_out(prepared, hearing, speaking)
            except PorticoError as problem:
                turn.early.void()
                took = self.clock.now() - began
                paid = isinstance(problem, ModelBroke | ModelTruncated)
                if hearing.begun or hearing.late or paid:
                    ledger.settled(ledger.spending.settle(reserved, hearing.read, None, took))
                else:
                    ledger.settled(ledger.spending.unasked(reserved, took))
                raise
        usage = None if hearing.reply is None else hearing.reply.usage
        took = self.clock.now() - began
        ledger.settled(ledger.spending.settle(reserved, hearing.read, usage, took))
        if hearing.reply is None:
            return self._broken_off(turn, prepared, hearing, ledger)
        self.prepare.margins.learn(prepared.info.ref, prepared.prompt, hearing.reply.usage)
        return _whole(prepared, hearing, hearing.reply)

    def _reserved(self, prepared: Prepared, ledger: Ledger) -> Reserved:
        """Raises `BudgetSpent`."""
        info = prepared.info
        margin = self.prepare.margins.of(info.ref, plain=prepared.plain)
        room = None if info.window is None else info.window - prepared.prompt * margin // 100
        question = Question(
            prompt=prepared.prompt,
            most=prepared.most,
            price=info.price,
            margin=margin,
            room=room,
        )
        if ledger.under_way:
            ledger.under_way = False
            _count_lost(ledger, _held(ledger, question))
        reserved = _held(ledger, question)
        if info.price is None:
            _once(ledger, f"Nobody knows what {info.ref} costs: the limit of money is not held.")
        return reserved

    def _hearing(
        self, turn: Turn, prepared: Prepared, reserved: Reserved, speaking: Speaking
    ) -> Hearing:
        def called(place: int, call: ToolCall) -> None:
            aim = None if prepared.by_form else prepared.offer.aimed_at(call)
            if aim is not None:
                tool, arguments = aim
                turn.early.begin(
                    Wanted(turn=turn.number, place=place, call=call, tool=tool, arguments=arguments)
                )

        return Hearing(
            most=reserved.answer,
            tokenizer=self.tokenizer,
            clock=self.clock,
            speaking=_Silent() if prepared.by_form else speaking,
            called=called,
        )

    def _ask(self, turn: Turn, prepared: Prepared, reserved: Reserved) -> ModelAsk:
        return ModelAsk(
            model=prepared.info.ref,
            instructions=prepared.instructions,
            messages=prepared.messages,
            tools=prepared.tools,
            schema=prepared.schema,
            most_output=reserved.asked,
            prompt_tokens=prepared.prompt,
            temperature=turn.leg.given.agent.spec.temperature,
            timeout=min(reserved.time, _MODEL_PATIENCE),
        )

    async def _hear(self, turn: Turn, ask: ModelAsk, hearing: Hearing) -> None:
        try:
            async with asyncio.timeout(ask.timeout.total_seconds()) as patience:
                async with (
                    turn.stop.over(patience),
                    aclosing(self.models.ask(turn.leg.acts.caller, ask)) as pieces,
                ):
                    async for piece in pieces:
                        if not hearing.take(piece):
                            return
        except TimeoutError:
            if turn.stop.asked or (hearing.begun and ask.timeout < _MODEL_PATIENCE):
                hearing.cut = True
                return
            hearing.late = True
            if ask.timeout < _MODEL_PATIENCE:
                raise BudgetSpent(["time"], "nobody has answered within it.") from None
            seconds = ask.timeout.total_seconds()
            raise ModelUnavailable(str(ask.model), f"no answer in {seconds:.0f} seconds.") from None
        raise ModelBroke(str(ask.model), "it ended without an end.")

    def _broken_off(
        self, turn: Turn, prepared: Prepared, hearing: Hearing, ledger: Ledger
    ) -> Answer:
        stopped, ref = turn.stop.asked, prepared.info.ref
        if not stopped:
            _once(ledger, f"{ref} had more to say than was left for it, and was cut off.")
        return Answer(
            model=str(ref),
            text=hearing.said.text,
            thought=hearing.thought.text,
            calls=() if stopped else tuple(hearing.calls),
            usage=_counted(prepared, hearing),
            finish=Finish.OTHER if stopped else Finish.LENGTH,
            first_at=hearing.first_at,
            offer=prepared.offer,
            stopped=stopped,
        )

    async def _pause(self, ledger: Ledger, seconds: float) -> None:
        began = self.clock.now()
        await self.pause(seconds)
        ledger.spending = ledger.spending.after(time=self.clock.now() - began)

    def _pause_after(self, problem: PorticoError, number: int) -> float | None:
        """None if it is not worth the wait."""
        chance = 0.5 + self.entropy(1)[0] / 255
        pause = _FIRST_PAUSE * 2 ** (number - 1) * chance
        hint = problem.retry_after if isinstance(problem, ModelUnavailable) else None
        if hint is not None:
            pause = max(hint.total_seconds(), 0.0) + self.entropy(1)[0] / 255 / 4
        return pause if pause <= _LONGEST_PAUSE else None


def _held(ledger: Ledger, question: Question) -> Reserved:
    """Raises `BudgetSpent`."""
    reserving = ledger.spending.for_question(question)
    if isinstance(reserving, Short):
        raise BudgetSpent(reserving.dimensions, reserving.told)
    ledger.spending, reserved = reserving
    return reserved


def _count_lost(ledger: Ledger, reserved: Reserved) -> None:
    """What somebody may have answered to a process that is gone; nobody knows how much it was."""
    lost = ledger.spending.settle(reserved, reserved.answer, None, timedelta(0))
    ledger.settled(lost)
    _once(ledger, "It was cut off while a model was being asked: that is counted as an answer.")


def _whole(prepared: Prepared, hearing: Hearing, reply: Reply) -> Answer:
    return Answer(
        model=str(prepared.info.ref),
        text=reply.text,
        thought=reply.thought,
        calls=reply.calls,
        kept=reply.kept,
        usage=reply.usage if reply.usage.reported else _counted(prepared, hearing),
        finish=reply.finish,
        first_at=hearing.first_at,
        notes=reply.notes,
        offer=prepared.offer,
    )


def _counted(prepared: Prepared, hearing: Hearing) -> Usage:
    return Usage(input=prepared.prompt, output=hearing.read, reported=False)


def _speak_out(prepared: Prepared, hearing: Hearing, speaking: Speaking) -> None:
    """What a form says is known when it is whole."""
    if prepared.by_form and hearing.reply is not None:
        read = from_form(hearing.reply.text, "")
        if isinstance(read, ModelSaid):
            speaking.add(read.text)


class _Silent:
    """Where what is streamed is a form, and nothing for people."""

    def add(self, piece: str) -> None:
        pass

    def think(self, piece: str) -> None:
        pass


def _once(ledger: Ledger, note: str) -> None:
    if note not in ledger.notes:
        ledger.notes.append(note)
