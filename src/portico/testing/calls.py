"""What was called and by whom, in memory: the record of calls, and what each one knows."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from portico.engine.core.errors import RunNotFound
from portico.engine.ports import RunBook
from portico.gateway.core.calls import (
    KNOWN,
    OLDEST,
    REST,
    SKEW,
    Call,
    CallClaim,
    CallId,
    CallOutcome,
    Figures,
    begun_before,
    lost,
)
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import BegunBefore
from portico.gateway.core.servers import Http
from portico.gateway.core.tool_usage import faded
from portico.guard.core.access_request import Act
from portico.kernel.clock import Clock
from portico.kernel.ids import ContextId, PrincipalId
from portico.kernel.label import PUBLIC, join, may_read
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, TickingClock
from portico.testing.world import Acquaintance, MadeCall, MemoryWorld, RowRefused


class MemoryCallHistory:
    """Of one process; with another `incarnation` on the same world, of the next one."""

    def __init__(
        self, world: MemoryWorld, clock: Clock | None = None, incarnation: str = "one"
    ) -> None:
        self._world = world
        self._clock = clock or TickingClock()
        self._incarnation = incarnation
        self._book: RunBook | None = None

    def look_at(self, book: RunBook) -> None:
        """The runs whose calls are recorded here."""
        self._book = book

    async def begin(self, caller: Principal, call: Call) -> None:
        if caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        self._write(caller, call)

    async def begin_once(self, caller: Principal, call: Call, claim: CallClaim) -> None:
        if (found := self._begun(caller, claim)) is not None:
            raise BegunBefore(str(call.ref), found.outcome)
        if await self._late(caller, claim):
            raise BegunBefore(str(call.ref), None)
        await self.begin(caller, call)

    async def _late(self, caller: Principal, claim: CallClaim) -> bool:
        if self._book is None or claim.run is None:
            return False
        try:
            run = await self._book.get(caller, claim.run)
        except RunNotFound:
            return False
        return run.leg > claim.leg or run.status.over

    async def begun(self, caller: Principal, claims: Sequence[CallClaim]) -> Collection[CallId]:
        return {claim.id for claim in claims if self._begun(caller, claim) is not None}

    def _begun(self, caller: Principal, claim: CallClaim) -> Call | None:
        for call in (claim.id, *claim.earlier):
            made = self._world.calls.get((caller.space, call))
            if made is not None and begun_before(made.call.outcome, own=call == claim.id):
                return made.call
        return None

    async def record(self, caller: Principal, call: Call) -> None:
        """Of a space that is gone nothing is kept."""
        if caller.space in self._world.spaces:
            self._write(caller, call)

    def _write(self, caller: Principal, call: Call) -> None:
        """Past what could take it back: it stays, whatever it was part of."""
        calls, place = self._world.calls.data, (caller.space, call.id)
        if call.context is not None:
            task = self._world.contexts.get((caller.space, call.context))
            call = replace(call, label=join([call.label, task.label if task else PUBLIC]))
        if place not in calls:
            calls[place] = MadeCall(call, json.dumps(call.arguments), self._incarnation)
            return
        before = calls[place]
        ended = replace(
            before.call,
            took=call.took,
            outcome=call.outcome,
            error=call.error,
            bytes_out=call.bytes_out,
        )
        calls[place] = replace(before, call=ended)

    async def page(
        self,
        caller: Principal,
        *,
        of: PrincipalId | None = None,
        ref: ToolRef | None,
        before: datetime | None,
        limit: int,
        beyond: Collection[str] = (),
    ) -> Sequence[Call]:
        found = [
            call
            for call in self._known(caller, beyond)
            if of in (None, call.principal)
            and ref in (None, call.ref)
            and (before is None or call.started_at < before)
        ]
        return sorted(found, key=lambda call: (call.started_at, call.id.value), reverse=True)[
            :limit
        ]

    async def figures(
        self,
        caller: Principal,
        *,
        since: datetime,
        server: str | None,
        of: PrincipalId | None = None,
        task: ContextId | None = None,
        beyond: Collection[str] = (),
    ) -> Sequence[Figures]:
        named: defaultdict[str, list[Call]] = defaultdict(list)
        for call in self._known(caller, beyond):
            if of not in (None, call.principal) or task not in (None, call.context):
                continue
            if call.started_at >= since and server in (None, call.ref.server) and call.outcome:
                named[call.ref.server if server is None else call.ref.name].append(call)
        return [_figures(name, named[name]) for name in sorted(named)]

    def _known(self, caller: Principal, beyond: Collection[str]) -> Sequence[Call]:
        now = self._clock.now()
        return [
            self._as_known(made, now)
            for (space, _), made in self._world.calls.items()
            if space == caller.space
            and may_read(caller.clearance, made.call.label)
            and made.call.ref.server not in beyond
        ]

    def _as_known(self, made: MadeCall, now: datetime) -> Call:
        call = replace(made.call, arguments=json.loads(made.arguments))
        theirs = made.by != self._incarnation
        return replace(call, outcome=CallOutcome.UNCERTAIN) if theirs and lost(call, now) else call


class MemoryAcquaintances:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def found(
        self, caller: Principal, refs: Sequence[ToolRef], query: str, at: datetime
    ) -> None:
        for ref in refs:
            before = self._before(caller, ref)
            self._keep(caller, ref, replace(before, found_for=query, found_at=at))

    async def used(self, caller: Principal, refs: Mapping[ToolRef, int], at: datetime) -> None:
        for ref, times in refs.items():
            before = self._before(caller, ref)
            last = before.called_at or at
            calls = times + faded(before.calls, at - last)
            self._keep(caller, ref, replace(before, calls=calls, called_at=max(at, last)))

    async def known(self, caller: Principal, limit: int) -> Sequence[tuple[ToolRef, str]]:
        def last(known: Acquaintance) -> datetime:
            return max(at for at in (known.found_at, known.called_at) if at is not None)

        mine = sorted(self._mine(caller).items())
        mine.sort(key=lambda item: last(item[1]), reverse=True)
        return [(ref, known.found_for) for ref, known in mine[:limit]]

    async def most_used(self, caller: Principal, limit: int) -> Sequence[ToolRef]:
        called = [
            (known.called_at, known.calls, ref)
            for ref, known in sorted(self._mine(caller).items())
            if known.called_at is not None
        ]
        last = max((at for at, _, _ in called), default=BEGINNING)
        called.sort(key=lambda each: faded(each[1], last - each[0]), reverse=True)
        return [ref for _, _, ref in called[:limit]]

    def _before(self, caller: Principal, ref: ToolRef) -> Acquaintance:
        return self._mine(caller).get(ref, Acquaintance())

    def _keep(self, caller: Principal, ref: ToolRef, known: Acquaintance) -> None:
        if (caller.space, caller.id) not in self._world.identities:
            raise RowRefused(f"There is no principal {caller.id} to remember anything for.")
        self._world.acquaintances[caller.space, caller.id, ref] = known

    def _mine(self, caller: Principal) -> Mapping[ToolRef, Acquaintance]:
        return {
            ref: known
            for (space, principal, ref), known in self._world.acquaintances.items()
            if (space, principal) == (caller.space, caller.id)
        }


def _figures(name: str, calls: Sequence[Call]) -> Figures:
    took = sorted(call.took for call in calls if call.took is not None)
    return Figures(
        name=name,
        calls=len(calls),
        failures=sum(call.outcome is not None and call.outcome.wrong for call in calls),
        p50=_percentile(took, 0.5),
        p95=_percentile(took, 0.95),
        p99=_percentile(took, 0.99),
        last_at=max(call.started_at for call in calls),
    )


def _percentile(ordered: Sequence[timedelta], part: float) -> timedelta:
    """Between the two that it lies between, as PostgreSQL's percentile_cont."""
    if len(ordered) < 2:
        return ordered[0] if ordered else timedelta()
    place = part * (len(ordered) - 1)
    below, above = list(pairwise(ordered))[min(int(place), len(ordered) - 2)]
    return below + (above - below) * (place - min(int(place), len(ordered) - 2))


class MemoryElsewhere:
    """What the processes with another `incarnation` are changing."""

    def __init__(
        self, world: MemoryWorld, clock: Clock | None = None, incarnation: str = "one"
    ) -> None:
        self._world = world
        self._clock = clock or TickingClock()
        self._incarnation = incarnation

    async def changed_since(self, act: Act, since: datetime) -> bool:
        now, caller, server = self._clock.now(), act.caller, act.aim.server
        away = {
            its.name
            for (space, _), its in self._world.servers.items()
            if space == caller.space and isinstance(its.launch, Http)
        }
        return any(
            _may_still_change(made.call, since, now)
            for (space, _), made in self._world.calls.items()
            if space == caller.space
            and made.by != self._incarnation
            and (
                made.call.principal == caller.id
                or made.call.ref.server == server
                or (act.aim.here and made.call.ref.server not in away)
            )
        )


def _may_still_change(call: Call, since: datetime, now: datetime) -> bool:
    if call.effect.reads_only or call.started_at < now - OLDEST:
        return False
    if call.outcome is None:
        return not lost(call, now)
    ended = call.started_at + (call.took or timedelta())
    rest = timedelta() if call.outcome in KNOWN else REST
    return ended + rest >= since - SKEW
