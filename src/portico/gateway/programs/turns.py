"""Have the interpreter take a turn: from a program's beginning, or from what its calls gave."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from portico.gateway.core.program.functions import CALL, Wanted, wanted
from portico.gateway.core.program.left import Left, Source, left_from
from portico.gateway.core.program.program import ProgramLimits
from portico.gateway.core.program.settle import failed, left_out, value_of
from portico.gateway.core.program.turn import Turn
from portico.gateway.workflows.acting import Acting
from portico.gateway.workflows.came import Came, Gave, LeftOut, WentWrong
from portico.kernel.clock import Clock
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal
from portico.sandbox.core.errors import CodeRefused
from portico.sandbox.core.requests import CodeEnd, CodeOutcome, Pending, Raised
from portico.sandbox.requests import Interpreter

OpenInterpreter = Callable[[], Awaitable[Interpreter]]
_TOO_LONG: Final = "it was not over after {:g} seconds altogether, waiting for calls included"
_TOO_LARGE: Final = "what has to be written down of it while it waits is more than {:,} bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A program as far as it has come."""

    acting: Acting
    source: Source
    turns: Sequence[Turn] = ()
    held: list[bytes | None] = field(default_factory=lambda: [None])
    """In memory its latest snapshot is held here: it may be large, and nobody needs it later."""

    @property
    def whole(self) -> float:
        return self.turns[-1].whole if self.turns else 0.0

    @property
    def size(self) -> int:
        return self.turns[-1].size if self.turns else 0

    def knows(self, number: int) -> bool:
        return any(number in turn.calls for turn in self.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stop:
    """Where the interpreter came to, with all that it printed on the way."""

    outcome: CodeOutcome
    printed: str
    new: Sequence[Wanted] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    open_interpreter: OpenInterpreter
    clock: Clock
    limits: ProgramLimits = field(default_factory=ProgramLimits)

    async def first(self, story: Story) -> Turn:
        """Raises `CodeBusy`, `BoxUnavailable`, `VaultClosed`, `KeyEnded`."""
        source = story.source
        names = [*source.functions, *([CALL] if source.by_name else [])]

        async def begin(interpreter: Interpreter, left: float) -> CodeOutcome:
            limits = self.limits.for_turn(left)
            return await interpreter.begin(
                source.code, limits, inputs=source.inputs, functions=names
            )

        return await self._taken(story, begin, Turn(number=1, end=CodeEnd.WAITING))

    async def next(self, story: Story, came: Mapping[int, Came], waited: float) -> Turn:
        """`waited`: seconds since the last one, for its calls. Raises as `first` does, and
        `ResultNotFound` if what the last one left is not kept any longer."""
        last = story.turns[-1]
        begun = Turn(
            number=last.number + 1,
            end=CodeEnd.WAITING,
            given=sorted(came),
            whole=last.whole + waited,
        )
        asker = await story.acting.asker()
        snapshot = story.held[0] or (await read_left(story.acting, asker, last)).snapshot or b""
        results, errors = await _settled(story.acting, came)

        async def go_on(interpreter: Interpreter, left: float) -> CodeOutcome:
            limits = self.limits.for_turn(left)
            return await interpreter.resume(snapshot, limits, results, errors=errors)

        return await self._taken(story, go_on, begun)

    async def _taken(
        self,
        story: Story,
        go: Callable[[Interpreter, float], Awaitable[CodeOutcome]],
        begun: Turn,
    ) -> Turn:
        began = self.clock.now()
        left = self.limits.whole_seconds - begun.whole
        stop = await self._stopped(story, go, left) if left > 0 else self._too_long("")
        took = (self.clock.now() - began).total_seconds()
        if stop.outcome.end is CodeEnd.TOO_LONG and took >= left:
            stop = self._too_long(stop.printed)
        return await self._kept(story, replace(begun, whole=begun.whole + took), stop)

    async def _stopped(
        self,
        story: Story,
        go: Callable[[Interpreter, float], Awaitable[CodeOutcome]],
        left: float,
    ) -> _Stop:
        interpreter = await self.open_interpreter()
        try:
            first = await go(interpreter, left)
        except CodeRefused as error:
            first = CodeOutcome(end=CodeEnd.RAISED, error=str(error))
        return await self._shapely(story, interpreter, left, first)

    def _too_long(self, printed: str) -> _Stop:
        words = _TOO_LONG.format(self.limits.whole_seconds)
        return _Stop(outcome=CodeOutcome(end=CodeEnd.TOO_LONG, error=words), printed=printed)

    async def _shapely(
        self, story: Story, interpreter: Interpreter, left: float, outcome: CodeOutcome
    ) -> _Stop:
        """On, past calls that are none: what they raise is known at once."""
        printed = outcome.printed
        while True:
            pending = [each for each in outcome.pending if not story.knows(each.number)]
            meant = {each.number: wanted(each, story.source.functions) for each in pending}
            wrong = {number: is_ for number, is_ in meant.items() if isinstance(is_, Raised)}
            if not wrong or outcome.snapshot is None:
                new = [each for each in meant.values() if isinstance(each, Wanted)]
                return _Stop(outcome=_awaited(outcome, pending), printed=printed, new=new)
            limits = self.limits.for_turn(left)
            outcome = await interpreter.resume(outcome.snapshot, limits, {}, errors=wrong)
            printed += outcome.printed

    async def _kept(self, story: Story, turn: Turn, stop: _Stop) -> Turn:
        asker, outcome = await story.acting.asker(), stop.outcome
        size = story.size + len(outcome.snapshot or b"")
        if size > self.limits.kept:
            words = _TOO_LARGE.format(self.limits.kept)
            outcome = CodeOutcome(end=CodeEnd.TOO_LARGE, error=words)
        ended = outcome.end is not CodeEnd.WAITING
        left = Left(
            snapshot=outcome.snapshot,
            wanted=() if ended else stop.new,
            printed=await printed_before(story, asker) + stop.printed if ended else stop.printed,
            result=outcome.result,
            error=outcome.error,
        )
        if not story.acting.waits:
            story.held[0], left = left.snapshot, replace(left, snapshot=None)
        kept = await story.acting.outputs.keep(asker, left.as_json())
        return replace(
            turn,
            end=outcome.end,
            kept=str(kept.result),
            calls={each.number: str(each.ref) for each in left.wanted},
            printed=len(left.printed),
            size=size,
        )


def _awaited(outcome: CodeOutcome, pending: Sequence[Pending]) -> CodeOutcome:
    """One that ends with a call that it never waited for has not made it, and would not know."""
    if outcome.end is not CodeEnd.FINISHED or not pending:
        return outcome
    name = pending[0].function
    words = f"await is missing: {name}(…) was not waited for, so it was not called"
    return CodeOutcome(end=CodeEnd.RAISED, error=f"{words}. Write: await {name}(…)")


async def read_left(acting: Acting, asker: Principal, turn: Turn) -> Left:
    """Raises `ResultNotFound`."""
    return left_from(await acting.outputs.get(asker, turn.handle))


async def printed_before(story: Story, asker: Principal) -> str:
    """Raises `ResultNotFound`."""
    loud = [turn for turn in story.turns if turn.printed]
    return "".join([(await read_left(story.acting, asker, turn)).printed for turn in loud])


async def _settled(
    acting: Acting, came: Mapping[int, Came]
) -> tuple[Mapping[int, JsonValue], Mapping[int, Raised]]:
    """Raises `ResultNotFound` if what one gave is kept no longer."""
    results: dict[int, JsonValue] = {}
    errors: dict[int, Raised] = {}
    for number, each in came.items():
        match each:
            case Gave():
                results[number] = value_of(await acting.document(each))
            case WentWrong(failure):
                said = await acting.words(failure)
                errors[number] = failed(await acting.message(failure), failure.code, said)
            case LeftOut(why):
                errors[number] = left_out(why)
    return results, errors
