"""A program to its end: turns of the interpreter, and between them the calls that it waits for.

Each turn and each call is a step. Which results a turn is given is what was there when it was
taken, and is noted with it; which calls are begun follows from the turns alone. So the order in
which calls end never matters to whoever goes on later, and between turns no interpreter is held:
a program that waits for somebody is some kilobytes, sealed.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Protocol

from portico.engine.execution import patiently
from portico.gateway.core.call import ResultId
from portico.gateway.core.program.errors import ProgramFailed
from portico.gateway.core.program.functions import Wanted
from portico.gateway.core.program.left import Source, source_from
from portico.gateway.core.program.program import ProgramLimits
from portico.gateway.core.program.turn import Turn, call_name, turn_from, turn_name
from portico.gateway.core.tool import ToolRef
from portico.gateway.programs.look_ahead import Ahead
from portico.gateway.programs.stopwatch import Stopwatch, Unhurried
from portico.gateway.programs.turns import Story, Turns, read_left
from portico.gateway.workflows.acting import Acting
from portico.gateway.workflows.came import Broken, Came
from portico.gateway.workflows.errors import NotInline
from portico.gateway.workflows.make_call import CallWish
from portico.gateway.workflows.needed import needed
from portico.kernel.durable import Durable
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.sandbox.core.requests import CodeEnd

_SETTLING: Final = 0.02
"""Seconds that a turn waits for more results: one turn for many costs less than one for each."""
_TAKE_BACK: Final = "~take-back"
_TRIES: Final = 5
"""Of a turn: for an interpreter there may be a line."""


class Calling(Protocol):
    async def __call__(self, acting: Acting, wish: CallWish, /) -> Came: ...


class ActingFor(Protocol):
    def __call__(self, durable: Durable, given: JsonObject, /) -> Acting: ...


class Looking(Protocol):
    async def __call__(self, caller: Principal, ref: ToolRef, /) -> Ahead | None: ...


class TakingBack(Protocol):
    async def __call__(self, acting: Acting, /) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgram:
    act_for: ActingFor
    look_ahead: Looking
    step_call: Calling
    turns: Turns
    take_back: TakingBack

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Raises `ProgramFailed`, and `StepFailed` if a turn could not be taken."""
        acting = self.act_for(durable, given)
        source = await self._source(acting, given)
        ended = await self._ended(acting, source)
        if isinstance(ended, PorticoError):
            raise ended
        if ended.end is not CodeEnd.FINISHED:
            raise ProgramFailed(ended.end)
        return {"turns": ended.number, "kept": ended.kept}

    async def _ended(self, acting: Acting, source: Source) -> Turn | PorticoError:
        """Or why no further turn could be taken. Whatever was called is over by then."""
        async with asyncio.TaskGroup() as group:
            running = _Running(self, acting, source, group)
            try:
                last = await running.to_its_end()
                await running.take_back()
            except PorticoError as error:
                return error
        return last

    async def _source(self, acting: Acting, given: JsonObject) -> Source:
        """Raises `ResultNotFound`, `KeyEnded`."""
        program, asker = ResultId.parse(str(given["program"])), await patiently(acting.asker)
        return source_from(await patiently(lambda: acting.outputs.get(asker, program)))


class _Running:
    """One leg of it. Calls that nobody waits for any more are seen to their end: they may have
    changed something by then."""

    def __init__(
        self, run: RunProgram, acting: Acting, source: Source, group: asyncio.TaskGroup
    ) -> None:
        self._run = run
        self._acting = acting
        self._story = Story(acting=acting, source=source)
        self._group = group
        self._watch = Stopwatch(run.turns.clock)
        self._calling = replace(acting, durable=Unhurried(acting.durable, self._watch))
        self._line: deque[Wanted] = deque()
        self._under_way: dict[int, asyncio.Task[Came | Broken]] = {}

    @property
    def _limits(self) -> ProgramLimits:
        return self._run.turns.limits

    async def to_its_end(self) -> Turn:
        last = await self._turn(1)
        while not last.over:
            await self._begin_calls(last)
            await asyncio.wait(self._under_way.values(), return_when=asyncio.FIRST_COMPLETED)
            self._check()
            last = await self._turn(last.number + 1)
        return last

    def _check(self) -> None:
        """What is not to be had now is nothing that the program could do something about: nothing
        is told to it. Raises that."""
        for call in self._under_way.values():
            if call.done() and isinstance(broken := call.result(), Broken):
                raise broken.error

    async def take_back(self) -> None:
        """Of the calls that nobody waits for any more, those that somebody would have to approve.
        Raises `StepFailed`."""
        if self._under_way and self._acting.waits:

            async def action(_key: str) -> JsonValue:
                await self._run.take_back(self._acting)
                return None

            await self._acting.durable.step(_TAKE_BACK, action)

    async def _turn(self, number: int) -> Turn:
        durable, story = self._acting.durable, self._story

        async def first(_key: str) -> JsonValue:
            return (await self._run.turns.first(story)).as_json()

        async def next_(_key: str) -> JsonValue:
            await asyncio.wait(self._under_way.values(), timeout=_SETTLING)
            turn = await self._run.turns.next(story, self._over(), self._watch.take())
            return turn.as_json()

        action = first if number == 1 else next_
        turn = turn_from(await durable.step(turn_name(number), action, tries=_TRIES))
        self._story = replace(story, turns=[*story.turns, turn])
        for given in turn.given:
            del self._under_way[given]
        return turn

    def _over(self) -> Mapping[int, Came]:
        over = {number: call.result() for number, call in self._under_way.items() if call.done()}
        return {number: came for number, came in over.items() if not isinstance(came, Broken)}

    async def _begin_calls(self, last: Turn) -> None:
        """Raises `ResultNotFound`, `KeyEnded`."""
        if last.calls:
            with self._acting.durable.busy():
                asker = await patiently(self._acting.asker)
                left = await patiently(lambda: read_left(self._acting, asker, last))
            self._line.extend(left.wanted)
        patience = timedelta(seconds=max(self._limits.whole_seconds - last.whole, 0.001))
        while self._line and len(self._under_way) < self._limits.at_once:
            wanted = self._line.popleft()
            call = self._group.create_task(self._call(wanted, patience))
            self._under_way[wanted.number] = call

    async def _call(self, wanted: Wanted, patience: timedelta) -> Came | Broken:
        """Whatever is looked up for it is looked up in its durable step: what is noted came to what
        it came to, whatever has become of its tool since."""

        async def arguments() -> JsonObject:
            await self._check_inline(wanted)
            return wanted.arguments

        name = call_name(wanted.number)
        wish = CallWish(step=name, tool=wanted.ref, arguments=arguments, timeout=patience)
        with self._watch.counting():
            try:
                return await self._run.step_call(self._calling, wish)
            except Broken as broken:
                return broken
            except PorticoError as error:
                return Broken(error)

    async def _check_inline(self, wanted: Wanted) -> None:
        """Raises `NotInline`, `Broken`."""
        if self._acting.waits:
            return
        asker = await needed(self._acting.asker)
        ahead = await needed(lambda: self._run.look_ahead(asker, wanted.ref))
        if ahead is not None and not ahead.effect.reads_only:
            raise NotInline(call_name(wanted.number), str(wanted.ref))
