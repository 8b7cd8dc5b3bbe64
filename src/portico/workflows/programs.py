"""Programs: start, run, show, wait."""

import asyncio
import hashlib
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Protocol

from portico.engine.core.errors import KeyReused, RunNotFound
from portico.engine.core.runs import QueuePlacement, Run, Started, Step
from portico.engine.execution import retry_while_unavailable
from portico.engine.ports import RunQueries
from portico.engine.runs import RunSpec
from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.gateway.core.calls import ResultId, ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import ResultNotFound
from portico.gateway.core.results import text_of
from portico.gateway.ports import ClientChannel
from portico.gateway.results import StoreResult
from portico.guard.approvals import Approvals, WithdrawApproval
from portico.guard.core.approvals import Status
from portico.guard.core.audit import AuditEntry
from portico.guard.core.errors import ApprovalNotFound
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Contexts, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable
from portico.kernel.effect import Effect, worst
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal
from portico.sandbox.core.errors import CodeRefused
from portico.sandbox.core.requests import CodeEnd, CodeOutcome, Pending, Raised
from portico.sandbox.requests import Interpreter
from portico.workflows.core.errors import NotInline
from portico.workflows.core.plan_report import (
    Mode,
    StepReport,
    StepStatus,
    Trouble,
    WorkflowReport,
    WorkflowStatus,
    standings,
    trouble,
)
from portico.workflows.core.programs import (
    CALL,
    PROGRAM,
    ProgramFailed,
    ProgramLimits,
    ProgramMode,
    ProgramReport,
    ProgramSpec,
    RequestedCall,
    Source,
    Turn,
    TurnState,
    begun_in,
    call_name,
    calls_in,
    check,
    failed,
    functions_in,
    left_from,
    left_out,
    source_from,
    turn_from,
    turn_name,
    turns_in,
    uses_call,
    value_of,
    wanted,
)
from portico.workflows.execution import Engines, EngineSide
from portico.workflows.run_context import (
    Acting,
    CallResult,
    DependencyUnavailable,
    LeftOut,
    Succeeded,
    ThroughDurable,
    WentWrong,
    asker_of,
    needed,
)
from portico.workflows.run_queries import CallerValues, may_look, status_of, without_values
from portico.workflows.step_calls import CalledWith, CallSpec


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    effect: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchToolMetadata:
    catalogues: Catalogs

    async def __call__(self, caller: Principal, ref: ToolRef) -> ToolMetadata | None:
        """None of what is not there, for this caller: whoever calls it is told so."""
        shelf = await self.catalogues.current(caller)
        try:
            return ToolMetadata(shelf.find(ref).effect)
        except PorticoError:
            return None


@dataclass(slots=True)
class _Said:
    """What was read of it, and what that makes of whoever reads it."""

    printed: str = ""
    last: TurnState = field(default_factory=TurnState)
    label: Label = PUBLIC
    untrusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowProgram:
    engines: Engines
    uncertain: Callable[[Principal, RunId, Sequence[Step]], Awaitable[frozenset[str]]]
    """Of the requests in a journal, those of which nobody knows whether they were carried out."""
    called_with: CalledWith
    contexts: Contexts
    keep_result: StoreResult

    async def __call__(self, caller: Principal, run: RunId) -> ProgramReport:
        """Whoever is told what it said takes it into their task.

        Raises `NotPermitted`, `RunNotFound`, `ContextNotFound`.
        """
        found, side = await self._found(caller, run)
        mine = may_look(caller, found)
        journal = await side.book.steps(caller, run)
        report = await self._standing(caller, found, side, journal)
        if not mine:
            return replace(report, whole=without_values(report.whole))
        values = CallerValues(caller, found.label, side.outputs(), self.contexts)
        whole = await values.with_words(report.whole)
        steps = await self.called_with(caller, found, journal, whole.steps)
        if any(step.called_with for step in steps):  # which may say what the run has read
            await self.contexts.raise_taint(caller, found.label, untrusted=True)
        report = replace(report, whole=replace(whole, steps=steps))
        said = await self._said(caller, side, turns_in(journal))
        if side.mode is Mode.INLINE:  # what is kept in memory does not know how secret it is
            said.label, said.untrusted = found.label, found.input.get("asker") != asker_of(caller)
        return await self._with_words(caller, report, said)

    async def status(self, caller: Principal, run: RunId) -> ProgramReport:
        """Without a word of what it said. Raises `NotPermitted`, `RunNotFound`."""
        found, side = await self._found(caller, run)
        may_look(caller, found)
        return await self._standing(caller, found, side, await side.book.steps(caller, run))

    async def _found(self, caller: Principal, run: RunId) -> tuple[Run, EngineSide]:
        found, side = await self.engines.find(caller, run)
        if found.kind != PROGRAM:
            raise RunNotFound(str(run))
        return found, side

    async def _standing(
        self, caller: Principal, run: Run, side: EngineSide, journal: Sequence[Step]
    ) -> ProgramReport:
        turns = turns_in(journal)
        last = turns[-1] if turns else None
        unknown = await self.uncertain(caller, run.id, journal)
        whole = WorkflowReport(
            run=str(run.id),
            status=status_of(run),
            mode=side.mode,
            principal=str(run.principal),
            label=str(run.label),
            steps=_since(standings(calls_in(turns), run, journal, unknown), begun_in(journal)),
            created_at=run.created_at,
            started_at=run.started_at,
            finished_at=run.finished_at,
            error=None if run.failure is None else trouble(run.failure),
            mine=run.principal == caller.id,
        )
        if whole.status is WorkflowStatus.RUNNING and whole.for_people:
            whole = replace(whole, status=WorkflowStatus.WAITING)
        return ProgramReport(
            whole=whole,
            end=last.end if last is not None and last.over else None,
            turns=len(turns),
            counted=0.0 if last is None else last.whole,
        )

    async def _with_words(
        self, caller: Principal, report: ProgramReport, said: _Said
    ) -> ProgramReport:
        """A task that has made the calls itself has taken in what they gave."""
        await self.contexts.raise_taint(caller, said.label, untrusted=said.untrusted)
        text = _text(said)
        answer = ToolResult([{"type": "text", "text": text}])
        shown, kept = await self.keep_result(
            caller, answer, label=said.label, untrusted=said.untrusted
        )
        long = kept is not None
        whole = replace(
            report.whole,
            output=None if long else said.last.result,
            output_handle=str(kept) if long else None,
            output_size=len(text),
            error=_error(report.whole, said.last),
        )
        printed = said.printed[: self.keep_result.page_size]
        return replace(report, whole=whole, printed=printed, shown=text_of(shown))

    async def _said(self, caller: Principal, side: EngineSide, turns: Sequence[Turn]) -> _Said:
        """By its last turn alone if it is over: that one has all that was printed."""
        said, outputs = _Said(), side.outputs()
        over = turns[-1:] if turns and turns[-1].over else [turn for turn in turns if turn.printed]
        for turn in over:
            try:
                read = await outputs.read(caller, turn.handle)
            except ResultNotFound:
                continue
            said.last = left_from(read.content)
            said.printed += said.last.printed
            said.label = join([said.label, read.label])
            said.untrusted = said.untrusted or read.untrusted
        return said


def _since(steps: Sequence[StepReport], begun: Mapping[str, datetime]) -> Sequence[StepReport]:
    """Of a call that is under way the journal does not say yet when it was begun."""
    return [
        replace(step, started_at=begun.get(step.id))
        if step.state is StepStatus.RUNNING and step.started_at is None
        else step
        for step in steps
    ]


def _text(said: _Said) -> str:
    """What it printed, and below it what its last line was worth."""
    result = said.last.result
    told = [] if result is None else [json.dumps(result, ensure_ascii=False)]
    return "\n".join([*([said.printed.rstrip("\n")] if said.printed else []), *told])


def _error(report: WorkflowReport, last: TurnState) -> Trouble | None:
    if report.error is None or last.error is None:
        return report.error
    return replace(report.error, message=last.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartProgram:
    engines: Engines
    catalogues: Catalogs
    contexts: Contexts
    audit: Audit
    unit_of_work: UnitOfWork

    async def __call__(self, caller: Principal, wish: ProgramSpec) -> Started:
        """Raises `NotPermitted`, `InvalidProgram`, `NotCanonical`, `NotInline`, `VaultClosed`,
        `KeyReused`, `ContextNotFound`, and `TopicRefused` where the caller is not cleared for what
        it would give."""
        require_scope(caller, Scope.TOOLS_CALL)
        check(wish)
        shelf = await self.catalogues.offered(caller)
        source = _source(wish, shelf)
        side = self.engines.of(_mode(wish, source, shelf))
        handle = _handle(caller, wish)
        if (there := await self._there(caller, wish, handle)) is not None:
            return Started(there, replayed=True)
        label = await self._label(caller, wish, source, shelf)
        kept = await side.outputs().keep(caller, source.as_json(), handle)
        given: JsonObject = {
            "program": str(kept.result),
            "mode": str(side.mode),
            "label": str(label),
            "asker": asker_of(caller),
        }
        its = RunSpec(
            kind=PROGRAM, input=given, key=wish.key, label=label, placement=QueuePlacement()
        )
        async with self.unit_of_work(caller):
            started = await side.start_run.started(caller, its)
            if not started.replayed:
                entry = _entry(started.run, wish, side.mode, source, shelf)
                await self.audit.note(caller, entry)
        return started

    async def _there(
        self, caller: Principal, wish: ProgramSpec, handle: ResultId | None
    ) -> Run | None:
        """What was asked for before under the same key. Raises `KeyReused`."""
        if wish.key is None:
            return None
        try:
            claim = RunId.of_claim(caller.space, caller.id, PROGRAM, wish.key)
            found, _ = await self.engines.find(caller, claim)
        except RunNotFound:
            return None
        if found.input.get("program") != str(handle):
            raise KeyReused(wish.key)
        return found

    async def _label(
        self, caller: Principal, wish: ProgramSpec, source: Source, shelf: CatalogSnapshot
    ) -> Label:
        """The journal names what it calls: whoever sees that may know all of it."""
        task = await self.contexts.get(caller)
        servers = {shelf.server(ref.server).label for ref in source.functions.values()}
        named = [caller.clearance] if source.by_name else []
        wished = [] if wish.label is None else [wish.label]
        return join([task.label, *servers, *named, *wished])


def _source(wish: ProgramSpec, shelf: CatalogSnapshot) -> Source:
    return Source(
        code=wish.code,
        inputs=wish.inputs,
        functions=functions_in(wish.code, shelf.tools),
        by_name=uses_call(wish.code),
    )


def _mode(wish: ProgramSpec, source: Source, shelf: CatalogSnapshot) -> Mode:
    """Raises `NotInline`."""
    changes = [
        (name, ref)
        for name, ref in source.functions.items()
        if not shelf.find(ref).effect.is_read_only
    ]
    match wish.mode:
        case ProgramMode.INLINE if changes:
            raise NotInline(changes[0][0], str(changes[0][1]))
        case ProgramMode.INLINE:
            return Mode.INLINE
        case ProgramMode.AUTO if not changes and not source.by_name:
            return Mode.INLINE
        case _:
            return Mode.DURABLE


def _handle(caller: Principal, wish: ProgramSpec) -> ResultId | None:
    """The same for the same wish under the same key, so that asking twice keeps it once."""
    if wish.key is None:
        return None
    who = [str(caller.space), str(caller.id), wish.key]
    how = [str(wish.mode), None if wish.label is None else str(wish.label)]
    text = canonical([*who, wish.code, wish.inputs, *how])
    return ResultId.of_digest(b"program " + text)


def _entry(
    run: Run, wish: ProgramSpec, mode: Mode, source: Source, shelf: CatalogSnapshot
) -> AuditEntry:
    effects = [shelf.find(ref).effect for ref in source.functions.values()]
    effect = worst([*effects, *([Effect.UNKNOWN] if source.by_name else [])])
    return AuditEntry(
        action="program.started",
        subject=str(run.id),
        details={
            "mode": str(mode),
            "tools": sorted({str(ref) for ref in source.functions.values()})[:20],
            "by_name": source.by_name,
            "effect": str(effect),
            "hash": hashlib.sha256(wish.code.encode(errors="surrogatepass")).hexdigest(),
        },
    )


@dataclass(slots=True)
class Stopwatch:
    """Runs while at least one call is under way. Only what this leg of the run has seen: what was
    counted before is in the turns, and who goes on after a crash was not there."""

    clock: Clock
    _running: int = 0
    _since: datetime | None = None
    _counted: timedelta = field(default_factory=timedelta)

    @contextmanager
    def counting(self, by: int = 1) -> Iterator[None]:
        """With -1: what goes on in here is not counted."""
        self._change(by)
        try:
            yield
        finally:
            self._change(-by)

    def take(self) -> float:
        """Seconds since it was last asked."""
        self._change(0)
        taken, self._counted = self._counted, timedelta()
        return taken.total_seconds()

    def _change(self, by: int) -> None:
        now = self.clock.now()
        if self._running > 0 and self._since is not None:
            self._counted += now - self._since
        self._since = now
        self._running += by


@dataclass(frozen=True, slots=True)
class Unhurried(ThroughDurable):
    """`Durable` for one call: while it waits for somebody, the watch does not count it."""

    watch: Stopwatch

    async def wait_for_signal(
        self, topic: str, *, patience: timedelta | None = None, name: str | None = None
    ) -> JsonValue:
        with self.watch.counting(-1):
            return await self.inner.wait_for_signal(topic, patience=patience, name=name)


# What a program has asked for is asked for no more once it is over: nobody approves a call of which
# nothing would come.

_WHY: Final = "the program that asked is over"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBack:
    book: RunQueries
    approvals: Approvals
    withdraw: WithdrawApproval

    async def __call__(self, acting: Acting) -> None:
        """What was answered already takes its way. Raises `KeyEnded`."""
        asker, durable = await acting.requester(), acting.durable
        for step in await self.book.steps(durable.caller, durable.run):
            if isinstance(step.output, Mapping) and "topic" in step.output:
                await self._taken_back(asker, str(step.output["approval"]))

    async def _taken_back(self, requester: Principal, approval: str) -> None:
        with suppress(ApprovalNotFound):
            found = await self.approvals.get(requester, ApprovalId.parse(approval))
            if found.status is Status.WAITING:
                await self.withdraw.closed(requester, found, _WHY)


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
    new: Sequence[RequestedCall] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    open_interpreter: OpenInterpreter
    clock: Clock
    limits: ProgramLimits = field(default_factory=ProgramLimits)

    async def first(self, story: Story) -> Turn:
        """Raises `CodeBusy`, `SandboxUnavailable`, `VaultClosed`, `KeyEnded`."""
        source = story.source
        names = [*source.functions, *([CALL] if source.by_name else [])]

        async def begin(interpreter: Interpreter, left: float) -> CodeOutcome:
            limits = self.limits.for_turn(left)
            return await interpreter.start(
                source.code, limits, inputs=source.inputs, functions=names
            )

        return await self._taken(story, begin, Turn(number=1, end=CodeEnd.WAITING))

    async def next(self, story: Story, came: Mapping[int, CallResult], waited: float) -> Turn:
        """`waited`: seconds since the last one, for its calls. Raises as `first` does, and
        `ResultNotFound` if what the last one left is not kept any longer."""
        last = story.turns[-1]
        begun = Turn(
            number=last.number + 1,
            end=CodeEnd.WAITING,
            given=sorted(came),
            whole=last.whole + waited,
        )
        asker = await story.acting.requester()
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
                new = [each for each in meant.values() if isinstance(each, RequestedCall)]
                return _Stop(outcome=_awaited(outcome, pending), printed=printed, new=new)
            limits = self.limits.for_turn(left)
            outcome = await interpreter.resume(outcome.snapshot, limits, {}, errors=wrong)
            printed += outcome.printed

    async def _kept(self, story: Story, turn: Turn, stop: _Stop) -> Turn:
        asker, outcome = await story.acting.requester(), stop.outcome
        size = story.size + len(outcome.snapshot or b"")
        if size > self.limits.stored:
            words = _TOO_LARGE.format(self.limits.stored)
            outcome = CodeOutcome(end=CodeEnd.TOO_LARGE, error=words)
        ended = outcome.end is not CodeEnd.WAITING
        left = TurnState(
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
            stored=str(kept.result),
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


async def read_left(acting: Acting, requester: Principal, turn: Turn) -> TurnState:
    """Raises `ResultNotFound`."""
    return left_from(await acting.outputs.get(requester, turn.handle))


async def printed_before(story: Story, requester: Principal) -> str:
    """Raises `ResultNotFound`."""
    loud = [turn for turn in story.turns if turn.printed]
    return "".join([(await read_left(story.acting, requester, turn)).printed for turn in loud])


async def _settled(
    acting: Acting, came: Mapping[int, CallResult]
) -> tuple[Mapping[int, JsonValue], Mapping[int, Raised]]:
    """Raises `ResultNotFound` if what one gave is kept no longer."""
    results: dict[int, JsonValue] = {}
    errors: dict[int, Raised] = {}
    for number, each in came.items():
        match each:
            case Succeeded():
                results[number] = value_of(await acting.document(each))
            case WentWrong(failure):
                said = await acting.words(failure)
                errors[number] = failed(await acting.message(failure), failure.code, said)
            case LeftOut(why):
                errors[number] = left_out(why)
    return results, errors


# A program to its end: turns of the interpreter, and between them the calls that it waits for.
#
# Each turn and each call is a step. Which results a turn is given is what was there when it was
# taken, and is noted with it; which calls are begun follows from the turns alone. So the order in
# which calls end never matters to whoever goes on later, and between turns no interpreter is held:
# a program that waits for somebody is some kilobytes, sealed.

_SETTLING: Final = 0.02
"""Seconds that a turn waits for more results: one turn for many costs less than one for each."""
_TAKE_BACK: Final = "~take-back"
_TRIES: Final = 5
"""Of a turn: for an interpreter there may be a line."""


class Calling(Protocol):
    async def __call__(self, acting: Acting, wish: CallSpec, /) -> CallResult: ...


class ActingFor(Protocol):
    def __call__(self, durable: Durable, given: JsonObject, /) -> Acting: ...


class Looking(Protocol):
    async def __call__(self, caller: Principal, ref: ToolRef, /) -> ToolMetadata | None: ...


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
        return {"turns": ended.number, "kept": ended.stored}

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
        program, asker = (
            ResultId.parse(str(given["program"])),
            await retry_while_unavailable(acting.requester),
        )
        return source_from(
            await retry_while_unavailable(lambda: acting.outputs.get(asker, program))
        )


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
        self._line: deque[RequestedCall] = deque()
        self._under_way: dict[int, asyncio.Task[CallResult | DependencyUnavailable]] = {}

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
            if call.done() and isinstance(broken := call.result(), DependencyUnavailable):
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

    def _over(self) -> Mapping[int, CallResult]:
        over = {number: call.result() for number, call in self._under_way.items() if call.done()}
        return {
            number: came
            for number, came in over.items()
            if not isinstance(came, DependencyUnavailable)
        }

    async def _begin_calls(self, last: Turn) -> None:
        """Raises `ResultNotFound`, `KeyEnded`."""
        if last.calls:
            with self._acting.durable.busy():
                asker = await retry_while_unavailable(self._acting.requester)
                left = await retry_while_unavailable(lambda: read_left(self._acting, asker, last))
            self._line.extend(left.wanted)
        patience = timedelta(seconds=max(self._limits.whole_seconds - last.whole, 0.001))
        while self._line and len(self._under_way) < self._limits.at_once:
            wanted = self._line.popleft()
            call = self._group.create_task(self._call(wanted, patience))
            self._under_way[wanted.number] = call

    async def _call(
        self, wanted: RequestedCall, patience: timedelta
    ) -> CallResult | DependencyUnavailable:
        """Whatever is looked up for it is looked up in its durable step: what is noted came to what
        it came to, whatever has become of its tool since."""

        async def arguments() -> JsonObject:
            await self._check_inline(wanted)
            return wanted.arguments

        name = call_name(wanted.number)
        wish = CallSpec(step=name, tool=wanted.ref, arguments=arguments, timeout=patience)
        with self._watch.counting():
            try:
                return await self._run.step_call(self._calling, wish)
            except DependencyUnavailable as broken:
                return broken
            except PorticoError as error:
                return DependencyUnavailable(error)

    async def _check_inline(self, wanted: RequestedCall) -> None:
        """Raises `NotInline`, `DependencyUnavailable`."""
        if self._acting.waits:
            return
        asker = await needed(self._acting.requester)
        ahead = await needed(lambda: self._run.look_ahead(asker, wanted.ref))
        if ahead is not None and not ahead.effect.is_read_only:
            raise NotInline(call_name(wanted.number), str(wanted.ref))


_LOOK: Final = 1.0
"""Seconds; the bus may say nothing, so it is looked so often anyway."""
_BREATH: Final = 0.02
"""Seconds; a run that tells much is not looked at more often than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForProgram:
    show: ShowProgram

    async def __call__(
        self,
        caller: Principal,
        run: RunId,
        *,
        patience: timedelta,
        line: ClientChannel | None = None,
    ) -> ProgramReport:
        """Raises `NotPermitted`, `RunNotFound`, `ContextNotFound`."""
        now = asyncio.get_running_loop().time
        deadline = now() + patience.total_seconds()
        _, side = await self.show.engines.find(caller, run)
        with side.bus.listen(caller.space, str(run)) as wakeups:
            while True:
                report = await self.show.status(caller, run)
                left = deadline - now()
                if report.over or report.status is WorkflowStatus.WAITING or left <= 0:
                    break
                if line is not None:
                    await _tell(line, report)
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, _LOOK)):
                        await asyncio.sleep(_BREATH)
                        await wakeups.wait()
        return await self.show(caller, run)


async def _tell(line: ClientChannel, report: ProgramReport) -> None:
    steps = report.whole.steps
    over = sum(step.state.over for step in steps)
    await line.progress(over, None, f"{over} of {len(steps)} calls so far are over")
