"""What debates may spend, in memory."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from portico.bridge.core.projects import ProjectId
from portico.debate.core.debates import Debate, DebateId
from portico.debate.core.questions import Cap
from portico.kernel.budget import NOTHING, Cost, Tokens
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal
from portico.testing.bridge_walls import check_label, mark
from portico.testing.debate_walls import committed, found, project_of, readable
from portico.testing.world import MemoryWorld, Reservation


class MemoryPurse:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def reserve(
        self, caller: Principal, debate: DebateId, name: str, cost: Cost
    ) -> tuple[str, ...]:
        its = found(self._world, caller, debate)
        if (caller.space, debate, name) in self._world.debate_reservations:
            return ()
        whole = its if its.part_of is None else self._world.debates[caller.space, its.part_of]
        label = join([its.label, mark(self._world, caller)])
        over = (
            *self._over(caller, its, whole, cost),
            *self._over_project(caller, its, label, cost),
        )
        if not over:
            held = Reservation(cost, whole.id, its.project, label)
            self._world.debate_reservations[caller.space, debate, name] = held
            self._charge(caller, held, cost)
        return over

    def _over(self, caller: Principal, its: Debate, whole: Debate, cost: Cost) -> Iterator[str]:
        if not its.analysis:
            alone = committed(self._world, caller, its.id) + cost
            yield from _passed("debate", alone, its.cap)
        if whole.analysis:
            yield from _passed(
                "analysis", committed(self._world, caller, whole.id) + cost, whole.cap
            )

    def _over_project(
        self, caller: Principal, its: Debate, label: Label, cost: Cost
    ) -> Iterator[str]:
        """Against what those could know of who may read it: a refusal tells of nothing else."""
        if its.project is not None:
            project = ProjectId.parse(its.project)
            cap = self._world.debate_caps.get((caller.space, project), Cap())
            yield from _passed("project", self._spent(caller, project, label)[0] + cost, cap)

    async def settle(self, caller: Principal, debate: DebateId, name: str, cost: Cost) -> None:
        its = found(self._world, caller, debate)
        held = self._world.debate_reservations.get((caller.space, debate, name))
        if held is None or held.settled:
            return
        came = cost if its.unbounded else _least(held.cost, cost)
        settled = replace(held, cost=came, settled=True)
        self._world.debate_reservations[caller.space, debate, name] = settled
        self._charge(caller, held, came, instead_of=held.cost)

    def _charge(
        self, caller: Principal, held: Reservation, cost: Cost, instead_of: Cost = NOTHING
    ) -> None:
        if held.project is not None:
            place = (caller.space, ProjectId.parse(held.project), held.label)
            was = self._world.debate_spending.get(place, NOTHING) + cost
            self._world.debate_spending[place] = Cost(
                tokens=Tokens(was.tokens - instead_of.tokens),
                money=was.money - instead_of.money,
                time=was.time - instead_of.time,
                calls=was.calls - instead_of.calls,
            )

    async def committed(self, caller: Principal, debate: DebateId) -> Cost:
        its = self._world.debates.get((caller.space, debate))
        if its is None or not readable(caller, its):
            return NOTHING
        return committed(self._world, caller, debate)

    async def outstanding(self, caller: Principal, debate: DebateId) -> Mapping[str, Cost]:
        its = self._world.debates.get((caller.space, debate))
        if its is None or not readable(caller, its):
            return {}
        return {
            name: held.cost
            for (space, id_, name), held in sorted(
                self._world.debate_reservations.items(), key=lambda row: row[0][2]
            )
            if (space, id_) == (caller.space, debate) and not held.settled
        }

    async def cap_project(self, caller: Principal, project: str, cap: Cap) -> None:
        its = project_of(self._world, caller, project)
        check_label(self._world, caller, its.label)
        self._world.debate_caps[caller.space, its.id] = cap

    async def project(self, caller: Principal, project: str) -> tuple[Cap, Cost, Label]:
        its = project_of(self._world, caller, project)
        cap = self._world.debate_caps.get((caller.space, its.id), Cap())
        spent, label = self._spent(caller, its.id, caller.clearance)
        return cap, spent, join([its.label, label])

    def _spent(self, caller: Principal, project: ProjectId, upto: Label) -> tuple[Cost, Label]:
        seen = {
            label: cost
            for (space, id_, label), cost in self._world.debate_spending.items()
            if (space, id_) == (caller.space, project) and upto.covers(label)
        }
        return sum(seen.values(), start=NOTHING), join(seen)


def _passed(whose: str, whole: Cost, cap: Cap) -> Iterator[str]:
    if cap.tokens is not None and whole.tokens > cap.tokens:
        yield f"{whose}.tokens"
    if cap.money is not None and whole.money > cap.money:
        yield f"{whose}.money"


def _least(held: Cost, came: Cost) -> Cost:
    return Cost(
        tokens=min(held.tokens, came.tokens),
        money=min(held.money, came.money),
        time=came.time,
        calls=min(held.calls, came.calls),
    )
