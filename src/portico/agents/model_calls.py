"""Ask a model: prepare, stream, fall back."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from portico.agents.activation import Turn, note
from portico.agents.core.agents import ToolMode
from portico.agents.core.budgets import (
    FIRST_MARGIN,
    LEAST_ANSWER,
    Question,
    Reserved,
    Short,
    learnt,
)
from portico.agents.core.conversations import (
    A_CALL,
    A_MESSAGE,
    Fitted,
    TooLong,
    as_it_is,
    fit,
    for_model,
    tokens_of_tool,
)
from portico.agents.core.errors import (
    BudgetSpent,
    ContextTooSmall,
    InvalidModelRef,
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
from portico.agents.core.model_calls import Ledger, ModelOutcome, ModelResponse
from portico.agents.core.model_requests import (
    AssistantMessage,
    Finish,
    Message,
    ModelAsk,
    ModelInfo,
    ModelRef,
    ReasoningChunk,
    Reply,
    ResponseChunk,
    TextChunk,
    ToolArgumentsChunk,
    ToolCall,
    ToolCallChunk,
    ToolShown,
    Usage,
)
from portico.agents.core.tool_calls import (
    Offer,
    RequestedToolCall,
    as_form,
    correction,
    form_instructions,
    form_schema,
    from_form,
    mode_for,
    shelf_for,
)
from portico.agents.ports import AgentEventSink, ModelRegistry, Models, Speaking, Toolbox
from portico.engine.execution import retry_while_unavailable
from portico.kernel.budget import Tokenizer
from portico.kernel.clock import Clock, Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject

_LONG: Final = 400
"""Characters; what is longer is counted once and for all, up to its last blank."""


@dataclass(slots=True)
class _Growing:
    """A text that comes in pieces, counted as the whole that it is."""

    tokenizer: Tokenizer
    parts: list[str] = field(default_factory=list)
    tokens: int = 0
    _counted: int = 0
    _tail: str = ""

    def with_piece(self, piece: str) -> int:
        """How many tokens there would be with it."""
        return self._counted + self.tokenizer.count(self._tail + piece)

    def add(self, piece: str, tokens: int) -> None:
        self.parts.append(piece)
        self.tokens = tokens
        self._tail += piece
        if len(self._tail) > _LONG:
            end = self._tail.rfind(" ") + 1 or len(self._tail)
            self._counted += self.tokenizer.count(self._tail[:end])
            self._tail = self._tail[end:]

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(slots=True, kw_only=True)
class Hearing:
    limit: int
    """Tokens by our count that are taken in; what is more than that is not."""
    tokenizer: Tokenizer
    clock: Clock
    speaking: Speaking
    called: Callable[[int, ToolCall], None]
    """Told of each call as it has come in whole, with its place."""
    first_at: datetime | None = None
    reply: Reply | None = None
    cut: bool = False
    """More was said than there was room for."""
    late: bool = False
    """Nothing more came in the time there was."""
    calls: list[ToolCall] = field(default_factory=list)
    said: _Growing = field(init=False)
    thought: _Growing = field(init=False)
    _asked: int = 0
    """Tokens of the calls."""
    _coming: dict[str, _Growing] = field(default_factory=dict)
    """Of calls that are not whole yet, their arguments, by their ids."""
    _whole: int = 0
    """Tokens of the reply, where not all of it came in pieces."""

    def __post_init__(self) -> None:
        self.said, self.thought = _Growing(self.tokenizer), _Growing(self.tokenizer)

    @property
    def started(self) -> bool:
        return self.first_at is not None

    @property
    def read(self) -> int:
        """Tokens."""
        coming = sum(each.tokens for each in self._coming.values())
        return max(self.said.tokens + self.thought.tokens + self._asked + coming, self._whole)

    def take(self, piece: ResponseChunk) -> bool:
        """Whether to go on listening."""
        if not isinstance(piece, Reply) and self.first_at is None:
            self.first_at = self.clock.now()
        match piece:
            case TextChunk(text):
                self._grow(self.said, text, self.speaking.add)
            case ReasoningChunk(text):
                self._grow(self.thought, text, self.speaking.think)
            case ToolArgumentsChunk(call=call, text=text):
                coming = self._coming.setdefault(call, _Growing(self.tokenizer))
                self._grow(coming, text, _unspoken)
            case ToolCallChunk(call):
                self._call(call)
            case Reply():
                self._ended(piece)
        return not self.cut and self.reply is None

    def _grow(self, growing: _Growing, piece: str, speak: Callable[[str], None]) -> None:
        tokens = growing.with_piece(piece)
        if self._paid(tokens - growing.tokens):
            growing.add(piece, tokens)
            speak(piece)

    def _call(self, call: ToolCall) -> None:
        size = self._size(call)
        self._coming.pop(call.id, None)
        if self._paid(size):
            self._asked += size
            self.calls.append(call)
            self.called(len(self.calls) - 1, call)

    def _ended(self, reply: Reply) -> None:
        """What came in pieces is not paid for again; what did not is."""
        whole = (
            self.tokenizer.count(reply.text)
            + self.tokenizer.count(reply.thought)
            + sum(self._size(call) for call in reply.calls)
        )
        if whole > self.limit:
            self.cut = True
            return
        self._whole = whole
        self.reply = reply

    def _paid(self, tokens: int) -> bool:
        self.cut = self.read + tokens > self.limit
        return not self.cut

    def _size(self, call: ToolCall) -> int:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        return self.tokenizer.count(call.name) + self.tokenizer.count(arguments) + A_CALL


def _unspoken(_piece: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Margins:
    """Of this process; another learns it anew."""

    _known: dict[ModelRef, int] = field(default_factory=dict)

    def of(self, model: ModelRef, *, plain: bool) -> int:
        """Percent of our own count; `plain` says whether what is counted is ASCII."""
        return max(self._known.get(model, 0), FIRST_MARGIN[plain])

    def learn(self, model: ModelRef, counted: int, usage: Usage) -> None:
        self._known[model] = learnt(self._known.get(model, 0), counted, usage)


_NO_TOOLS: Final = (
    "None of the tools that it may use can be used now: `portico servers list` shows what waits to "
    "be approved."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One model, and what it is to be asked."""

    info: ModelInfo
    offer: Offer
    by_form: bool
    instructions: str
    tools: Sequence[ToolShown]
    schema: JsonObject | None
    messages: Sequence[Message]
    max_output_tokens: int
    """Tokens of an answer."""
    prompt: int
    """Tokens of all of it, by our count."""

    @property
    def plain(self) -> bool:
        """Whether by far the most of it is ASCII."""
        texts = [self.instructions, *(message.text for message in self.messages)]
        other = sum(len(text) for text in texts if not text.isascii())
        return other * 10 <= sum(map(len, texts))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareQuestion:
    book: ModelRegistry
    toolbox: Toolbox
    event_sink: AgentEventSink
    tokenizer: Tokenizer
    margins: Margins = field(default_factory=Margins)

    async def __call__(
        self, turn: Turn, ref: ModelRef, ledger: Ledger, said: Sequence[Message] = ()
    ) -> Prepared:
        """`said` comes after all of the run. Raises `ModelNotCleared`, `ContextTooSmall`."""
        info = await self.book.get(turn.activation.acts.caller, ref)
        if not info.clearance.covers(turn.label):
            raise ModelNotCleared(str(ref), str(turn.label), str(info.clearance))
        spec = turn.activation.given.agent.spec
        offer = await self._offered(turn, info)
        if spec.tools and not offer.shown and _NO_TOOLS not in ledger.notes:
            await note(self.event_sink, turn, ledger, "no_tools", _NO_TOOLS)
        by_form = bool(offer.shown) and mode_for(info, spec.tool_mode) is ToolMode.FORM
        messages = [*for_model(turn.lines, str(ref)), *said]
        prepared = Prepared(
            info=info,
            offer=offer,
            by_form=by_form,
            instructions=form_instructions(spec.instructions, offer.shown)
            if by_form
            else spec.instructions,
            tools=() if by_form else offer.shown,
            schema=form_schema(offer.shown) if by_form else None,
            messages=messages,
            max_output_tokens=_most(turn, info),
            prompt=0,
        )
        return await self._fitted(turn, prepared, ledger)

    async def offer(self, turn: Turn, model: ModelRef) -> Offer:
        """What this model is shown of the tools."""
        return await self._offered(turn, await self.book.get(turn.activation.acts.caller, model))

    async def _offered(self, turn: Turn, info: ModelInfo) -> Offer:
        if not turn.activation.given.agent.spec.tools:
            return Offer(names={})
        shelf = shelf_for(info)
        return await retry_while_unavailable(
            lambda: self.toolbox.offered(
                turn.activation.acts, words=turn.text, most=shelf.limit, tokens=shelf.tokens
            )
        )

    async def _fitted(self, turn: Turn, prepared: Prepared, ledger: Ledger) -> Prepared:
        """Raises `ContextTooSmall`."""
        count = turn.activation.counting(self.tokenizer)
        fixed = count(prepared.instructions) + A_MESSAGE
        fixed += sum(tokens_of_tool(tool, count) for tool in prepared.tools)
        info = prepared.info
        room = 1 << 60
        if info.window is not None:
            answer = min(prepared.max_output_tokens, max(info.window // 4, LEAST_ANSWER))
            margin = self.margins.of(info.ref, plain=prepared.plain)
            room = (info.window - answer) * 100 // margin - fixed
        as_sent = as_form if prepared.by_form else as_it_is
        fitted = fit(prepared.messages, room, count, as_sent)
        match fitted:
            case TooLong(needed):
                raise ContextTooSmall(str(info.ref), needed + fixed, info.window or 0)
            case Fitted(messages, tokens, shortened):
                if shortened:
                    older = "older message was" if shortened == 1 else "older messages were"
                    what = f"{shortened} {older} shortened to fit into its window."
                    await note(self.event_sink, turn, ledger, "compacted", what)
                return replace(prepared, messages=[*map(as_sent, messages)], prompt=fixed + tokens)


def _most(turn: Turn, info: ModelInfo) -> int:
    most = turn.activation.given.agent.spec.max_output_tokens
    return most if info.max_output_tokens is None else min(most, info.max_output_tokens)


_TRIES: Final = 3
"""Of one model, in one turn."""
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
"""Seconds; whoever says to come back later than this is not waited for."""
_MODEL_PATIENCE: Final = timedelta(minutes=10)
"""For one whole answer, where the run has as much time."""

_PASSED_OVER: Final = (
    InvalidModelRef,
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
    event_sink: AgentEventSink
    tokenizer: Tokenizer
    clock: Clock
    entropy: Entropy
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep

    async def __call__(self, turn: Turn, ledger: Ledger) -> ModelOutcome:
        """It raises nothing that a model, its server or the budget is the cause of."""
        given = turn.activation.given
        chain = (given.model, *given.agent.spec.fallbacks)
        for place, name in enumerate(chain):
            try:
                answer = await self._asked(turn, ModelRef.parse(name), ledger)
            except _PASSED_OVER as problem:
                ledger.problems.append(problem)
                if place + 1 < len(chain):
                    what = f"{problem} Next: {chain[place + 1]}."
                    await note(self.event_sink, turn, ledger, "fallback", what)
                continue
            return ModelOutcome(answer, ledger)
        return ModelOutcome(None, ledger)

    async def _asked(self, turn: Turn, ref: ModelRef, ledger: Ledger) -> ModelResponse:
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
                await note(self.event_sink, turn, ledger, "retry", f"{problem} It is asked again.")
                await self._pause(ledger, pause)
                continue
            if not prepared.by_form or answer.stopped:
                return answer
            read = from_form(answer.text, f"form-{turn.number}")
            if isinstance(read, AssistantMessage):
                return replace(answer, text=read.text, calls=read.calls, stored=None)
            if said:
                break
            said = (AssistantMessage(answer.text), correction(read))
        raise ModelBroke(str(ref), "what it said was not of the form that it was to have.")

    async def _attempt(self, turn: Turn, prepared: Prepared, ledger: Ledger) -> ModelResponse:
        reserved = self._reserved(prepared, ledger)
        ledger.attempts += 1
        leg, began = turn.activation, self.clock.now()
        async with self.event_sink.speaking(
            leg.writer, leg.run, turn=turn.number, attempt=ledger.attempts, label=turn.label
        ) as speaking:
            hearing = self._hearing(turn, prepared, reserved, speaking)
            try:
                await self._hear(turn, self._ask(turn, prepared, reserved), hearing)
                _speak_out(prepared, hearing, speaking)
            except PorticoError as problem:
                turn.eager_calls.void()
                took = self.clock.now() - began
                paid = isinstance(problem, ModelBroke | ModelTruncated)
                if hearing.started or hearing.late or paid:
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
            max_output_tokens=prepared.max_output_tokens,
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
                turn.eager_calls.start(
                    RequestedToolCall(
                        turn=turn.number, position=place, call=call, tool=tool, arguments=arguments
                    )
                )

        return Hearing(
            limit=reserved.answer,
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
            max_output_tokens=reserved.asked,
            prompt_tokens=prepared.prompt,
            temperature=turn.activation.given.agent.spec.temperature,
            timeout=min(reserved.time, _MODEL_PATIENCE),
        )

    async def _hear(self, turn: Turn, ask: ModelAsk, hearing: Hearing) -> None:
        try:
            async with asyncio.timeout(ask.timeout.total_seconds()) as patience:
                async with (
                    turn.stop.over(patience),
                    aclosing(self.models.ask(turn.activation.acts.caller, ask)) as pieces,
                ):
                    async for piece in pieces:
                        if not hearing.take(piece):
                            return
        except TimeoutError:
            if turn.stop.asked or (hearing.started and ask.timeout < _MODEL_PATIENCE):
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
    ) -> ModelResponse:
        stopped, ref = turn.stop.asked, prepared.info.ref
        if not stopped:
            _once(ledger, f"{ref} had more to say than was left for it, and was cut off.")
        return ModelResponse(
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


def _whole(prepared: Prepared, hearing: Hearing, reply: Reply) -> ModelResponse:
    return ModelResponse(
        model=str(prepared.info.ref),
        text=reply.text,
        thought=reply.thought,
        calls=reply.calls,
        stored=reply.stored,
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
        if isinstance(read, AssistantMessage):
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
