"""`lease` and `task`: who does what, and who may touch it meanwhile."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from portico.bridge.core.errors import BadBridgeInput
from portico.bridge.core.leases import USUAL, LeaseId, LeaseWish
from portico.bridge.core.projects import Project
from portico.bridge.core.work_items import NewWork, Work, WorkEnded, WorkId, WorkState
from portico.interfaces.mcp.bridge.facts import lease_facts, waiting_facts, work_facts
from portico.interfaces.mcp.bridge.given import Given
from portico.interfaces.mcp.bridge.told import RAISED
from portico.interfaces.mcp.bridge.uses import BridgeUses
from portico.interfaces.mcp.bridge.words import lease_line, waiting_line, work_words
from portico.interfaces.mcp.told import Told, lines
from portico.kernel.errors import Flaw
from portico.kernel.principal import Principal

_Do = Callable[[Principal, Given], Awaitable[Told]]


@dataclass(frozen=True, slots=True)
class LeaseTool:
    use: BridgeUses

    async def lease(self, caller: Principal, given: Given) -> Told:
        ways: Mapping[str, _Do] = {
            "take": self._take,
            "renew": self._renew,
            "release": self._release,
            "check": self._check,
            "list": self._list,
        }
        return await ways[given.needed("do")](caller, given)

    async def _take(self, caller: Principal, given: Given) -> Told:
        wish = LeaseWish(
            project=(await _project(self.use, caller, given)).id,
            resource=given.needed("resource"),
            lasts=given.seconds("seconds") or USUAL,
            purpose=given.text("purpose") or "",
            wait=given.switch("queue") or False,
        )
        facts = lease_facts(await self.use.bridge.things.take_lease(caller, wish))
        return Told(f"Yours: {lease_line(facts)}", facts)

    async def _renew(self, caller: Principal, given: Given) -> Told:
        lease, lasts = LeaseId.parse(given.needed("lease")), given.seconds("seconds") or USUAL
        renewed = await self.use.bridge.things.renew_lease(caller, lease, given.token(), for_=lasts)
        facts = lease_facts(renewed)
        return Told(f"Still yours: {lease_line(facts)}", facts)

    async def _release(self, caller: Principal, given: Given) -> Told:
        lease = LeaseId.parse(given.needed("lease"))
        await self.use.bridge.things.release_lease(caller, lease, given.token())
        return Told(f"{lease} is released.", {"released": str(lease)})

    async def _check(self, caller: Principal, given: Given) -> Told:
        project = await _project(self.use, caller, given)
        held = await self.use.bridge.things.check_lease(
            caller, project.id, given.needed("resource"), given.token()
        )
        facts = lease_facts(held)
        return Told(f"It holds: {lease_line(facts)}", facts)

    async def _list(self, caller: Principal, given: Given) -> Told:
        project = await _project(self.use, caller, given)
        held, queue = await self.use.bridge.things.list_leases(caller, project.id)
        leases = [lease_facts(each) for each in held]
        waiting = [waiting_facts(each) for each in queue]
        return Told(
            lines(map(lease_line, leases), map(waiting_line, waiting)) or "Nobody holds anything.",
            {"leases": leases, "waiting": waiting},
        )


@dataclass(frozen=True, slots=True)
class TaskTool:
    use: BridgeUses

    async def task(self, caller: Principal, given: Given) -> Told:
        ways: Mapping[str, _Do] = {
            "add": self._add,
            "list": self._list,
            "show": self._show,
            "claim": self._claim,
            "hand_over": self._hand_over,
            "done": self._end,
            "drop": self._end,
        }
        return await ways[given.needed("do")](caller, given)

    async def _add(self, caller: Principal, given: Given) -> Told:
        project = await _project(self.use, caller, given)
        wanted = NewWork(
            project=project.id,
            title=given.needed("title"),
            body=given.text("body") or "",
            label=given.label(),
            depends=tuple(map(WorkId.parse, given.texts("depends"))),
            key=given.text("key"),
        )
        added = await self.use.bridge.things.add_work(caller, wanted)
        return _told(added, raised=wanted.label is None and added.label != project.label)

    async def _list(self, caller: Principal, given: Given) -> Told:
        found = await self.use.bridge.things.list_work(
            caller,
            (await _project(self.use, caller, given)).id,
            state=_state(given),
            after=given.text("after"),
        )
        facts = [work_facts(each) for each in found]
        return Told(lines(map(work_words, facts)) or "There is no work.", {"work": facts})

    async def _show(self, caller: Principal, given: Given) -> Told:
        return _told(await self.use.bridge.things.show_work(caller, _work(given)))

    async def _claim(self, caller: Principal, given: Given) -> Told:
        return _told(await self.use.bridge.things.claim_work(caller, _work(given)))

    async def _hand_over(self, caller: Principal, given: Given) -> Told:
        to = await self.use.bridge.talk.name_people(caller, [*filter(None, [given.text("to")])])
        handed = await self.use.bridge.things.hand_over_work(
            caller, _work(given), given.token(), to[0] if to else None
        )
        return _told(handed)

    async def _end(self, caller: Principal, given: Given) -> Told:
        done = given.text("do") == "done"
        ended = WorkEnded(
            work=_work(given),
            token=given.token(),
            state=WorkState.DONE if done else WorkState.DROPPED,
            outcome=given.text("outcome") or "",
        )
        return _told(await self.use.bridge.things.end_work(caller, ended))


async def _project(use: BridgeUses, caller: Principal, given: Given) -> Project:
    return await use.bridge.talk.show_project(caller, given.needed("project"))


def _work(given: Given) -> WorkId:
    return WorkId.parse(given.needed("task"))


def _state(given: Given) -> WorkState | None:
    found = given.text("state")
    if found is not None and found not in set(WorkState):
        raise BadBridgeInput([Flaw("state", f"must be one of {', '.join(WorkState)}")])
    return None if found is None else WorkState(found)


def _told(work: Work, *, raised: bool = False) -> Told:
    facts = work_facts(work)
    text = lines(work_words(facts), RAISED if raised else "")
    return Told(text, {**facts, "raised": raised})
