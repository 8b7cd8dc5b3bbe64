"""Make calls before they are asked for: those that pass every gate, and no others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from portico.gateway.calls import act_on
from portico.gateway.catalog import Catalogues
from portico.gateway.catalog_snapshot import Shelf
from portico.gateway.core.calls import Answer, Phase
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import Inside, Server, Stdio
from portico.gateway.ports import SchemaCheck, Upstreams
from portico.guard.authentication import AsTheyAre
from portico.guard.core.access_request import Act, Allowed
from portico.guard.core.contexts import risen
from portico.guard.core.errors import KeyEnded
from portico.guard.policy_gate import Gate as Guard
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal
from portico.learning.core.prefetch.attempt import Attempt
from portico.learning.core.prefetch.buffer import Held, key_of
from portico.learning.core.prefetch.gates import GATES, Gate, closed
from portico.learning.core.prefetch.wanted import Wanted
from portico.learning.prefetch.flight import After
from portico.learning.prefetch.lane import Lane
from portico.learning.prefetch_ports import SwitchesAtHand

_MOST: Final = 4
"""That are begun after one call."""
_DEEPEST: Final = 3
"""How many in a row are begun one after the other's answer."""


@dataclass(frozen=True, slots=True)
class _Chain:
    """What those before it in the row have read, and nobody has taken in yet."""

    label: Label = PUBLIC
    untrusted: bool = False
    deep: int = 1

    def beyond(self, server: Server) -> "_Chain":
        return _Chain(
            join([self.label, server.label]), self.untrusted or not server.trusted, self.deep + 1
        )


def _unheard(wanted: Wanted, gate: str) -> None:
    """Nobody is told what was not done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAhead:
    catalogues: Catalogues
    schemas: SchemaCheck
    guard: Guard
    as_they_are: AsTheyAre
    switches: SwitchesAtHand
    upstreams: Upstreams
    lane: Lane
    clock: Clock
    gates: Sequence[Gate] = GATES
    turned_down: Callable[[Wanted, str], None] = _unheard
    """Told which gate was closed."""

    async def these(self, caller: Principal, wanted: Sequence[Wanted]) -> Sequence[Wanted]:
        """Those that are under way now, or were already. It waits for no server, and raises
        nothing of what stands in the way of one."""
        return await self._begun(caller, wanted, _Chain())

    async def _begun(
        self, caller: Principal, wanted: Sequence[Wanted], chain: _Chain
    ) -> Sequence[Wanted]:
        begun = []
        for each in wanted[:_MOST]:
            try:
                if await self._begin(caller, each, chain):
                    begun.append(each)
            except PorticoError as error:
                self.turned_down(each, error.code)
        return begun

    async def _begin(self, caller: Principal, wanted: Wanted, chain: _Chain) -> bool:
        """Looked at twice: before a limit is used for it and, as that takes a while, afterwards.
        Nothing of the caller's own limit is used, and little of what is everybody's. Raises what
        the catalogue and the guard raise."""
        attempt, _ = await self._attempt(caller, wanted, chain)
        if self.lane.buffer.holds(key_of(attempt.act)):
            return True
        if not self._let_through(attempt):
            return False
        await self.guard.limits.take_ahead(attempt.act, self.lane.terms.share)
        attempt, server = await self._attempt(caller, wanted, chain)
        return self._let_through(attempt) and self._started(caller, attempt, server, chain)

    def _let_through(self, attempt: Attempt) -> bool:
        gate = closed(attempt, self.gates)
        if gate is not None:
            self.turned_down(attempt.wanted, gate)
        return gate is None

    def _started(self, caller: Principal, attempt: Attempt, server: Server, chain: _Chain) -> bool:
        """Right after the gates: between them and this, nothing else happens."""
        act, label = attempt.act, attempt.task.label
        held = Held(key=key_of(act), act=act, server=server, wanted=attempt.wanted, label=label)
        begun = self.lane.begin(held, attempt.price, self._after(caller, chain.beyond(server)))
        if begun and isinstance(attempt.decision, Allowed):
            self.guard.made_ahead(act, attempt.decision)
        return begun

    async def _attempt(
        self, caller: Principal, wanted: Wanted, chain: _Chain
    ) -> tuple[Attempt, Server]:
        caller, stands = await self._as_now(caller)
        shelf = await self.catalogues.current(caller)
        act = act_on(caller, shelf, wanted.ref, wanted.arguments)
        server = shelf.server(wanted.ref.server)
        switches = await self.switches.current(caller)
        read = await self.guard.contexts.get(caller)
        task = risen(read, chain.label, untrusted=chain.untrusted)
        decision = await self.guard.decide.in_task(act, task)
        lane, now, place = self.lane, self.lane.now(), key_of(act).place
        vitals = self.upstreams.vitals(caller.space, server.name)
        inside = isinstance(server.launch, Inside)
        attempt = Attempt(
            wanted=wanted,
            act=act,
            stands=stands,
            mode=switches.mode_of(server),
            external=switches.external_for(server),
            workflows=server.holds_workflows or server.holds_agents,
            task=task,
            trusted={its.id for its in shelf.servers.values() if its.trusted},
            flaws=self._flaws(shelf, act, wanted),
            decision=decision,
            usual=self._usual(caller, server, wanted),
            settled=not lane.unsettled.touches(act, now),
            awake=inside or vitals.phase is Phase.RUNNING,
            busy=vitals.calls_now,
            alone=isinstance(server.launch, Stdio),
            use=lane.budget.use(place, server.name, now),
            price=lane.terms.price_of(str(wanted.ref)),
            terms=lane.terms,
        )
        return attempt, server

    async def _as_now(self, caller: Principal) -> tuple[Principal, bool]:
        """With no more than they had when they were last heard of."""
        if caller.until is not None and caller.until <= self.clock.now():
            return caller, False
        try:
            now = await self.as_they_are.no_more(caller, key=caller.key, at=caller.context)
        except KeyEnded:
            return caller, False
        return replace(now, tools=(*now.tools, *caller.tools)), True

    def _flaws(self, shelf: Shelf, act: Act, wanted: Wanted) -> int:
        schema = shelf.find(wanted.ref).definition.input_schema
        return len(self.schemas.flaws(schema, act.arguments))

    def _usual(self, caller: Principal, server: Server, wanted: Wanted) -> timedelta | None:
        return self.lane.paces.usual(caller.space, ToolPlace(server.id, wanted.ref.name))

    def _after(self, caller: Principal, chain: _Chain) -> After:
        async def after(held: Held, answer: Answer) -> None:
            then = held.wanted.then
            if then is not None and chain.deep <= _DEEPEST and not held.doomed:
                await self._begun(caller, then(answer), chain)

        return after
