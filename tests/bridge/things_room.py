"""The room of talks with the things of a project in it: memory, files, leases, work, presence."""

from dataclasses import dataclass, replace
from typing import Any

from portico.bridge.attachments import Attach, FetchAttachment
from portico.bridge.core.memory import MemoryEntry, ToRemember
from portico.bridge.core.projects import Project
from portico.bridge.core.work_items import NewWorkItem, WorkItem, WorkItemId
from portico.bridge.leases import CheckLease, ListLeases, ReleaseLease, RenewLease, TakeLease
from portico.bridge.memory import Forget, ListMemory, MemoryHistory, Recall, Remember, SearchMemory
from portico.bridge.presence import ListPresence, SayPresence
from portico.bridge.projects import OpenProject
from portico.bridge.work_items import (
    AddWork,
    ClaimWork,
    EndWork,
    HandOverWork,
    ListWork,
    OpenWork,
    ShowWork,
)
from portico.guard.core.access_request import TaintContext
from portico.kernel.json import JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.bridge_memory import MemoryLeases, MemoryMemory, MemoryPresences, MemoryWorks
from tests.bridge.talk_room import TEAM, TalkRoom


class ThingsRoom(TalkRoom):
    def __init__(self) -> None:
        super().__init__()
        clock, marks = self.clock, self.marks
        opened = OpenProject(self.projects, marks)
        memory = MemoryMemory(self.world, clock)
        leases = MemoryLeases(self.world, clock)
        works = MemoryWorks(self.world)
        presences = MemoryPresences(self.world)
        open_work = OpenWork(opened, works, marks)
        in_memory: dict[str, Any] = {"open_project": opened, "memory": memory, "taint": marks}
        held: dict[str, Any] = {"open_project": opened, "leases": leases}
        listed: dict[str, Any] = {"open_project": opened, "works": works, "taint": marks}
        done: dict[str, Any] = {"open_work": open_work, "works": works, "clock": clock}
        making: dict[str, Any] = {"clock": clock, "entropy": self.entropy}
        self.remember = Remember(clock=clock, **in_memory)
        self.recall = Recall(**in_memory)
        self.forget = Forget(clock=clock, **in_memory)
        self.list_memory = ListMemory(**in_memory)
        self.search_memory = SearchMemory(**in_memory)
        self.memory_history = MemoryHistory(**in_memory)
        self.attach = Attach(
            open_project=opened, attachments=self.attachments, taint=marks, clock=clock
        )
        self.fetch = FetchAttachment(attachments=self.attachments, taint=marks)
        self.take_lease = TakeLease(taint=marks, **held, **making)
        self.renew_lease = RenewLease(taint=marks, **held)
        self.release_lease = ReleaseLease(taint=marks, **held)
        self.check_lease = CheckLease(**held)
        self.list_leases = ListLeases(**held)
        self.add_work = AddWork(**listed, **making)
        self.show_work = ShowWork(open_work=open_work)
        self.list_work = ListWork(**listed)
        self.claim_work = ClaimWork(**done)
        self.hand_over_work = HandOverWork(**done)
        self.end_work = EndWork(**done)
        self.say_presence = SayPresence(
            open_project=opened, presences=presences, taint=marks, clock=clock
        )
        self.list_presence = ListPresence(open_project=opened, presences=presences, clock=clock)

    async def kept(
        self,
        who: Principal,
        project: Project,
        key: str = "k",
        value: JsonValue = "v",
        label: Label | None = None,
    ) -> MemoryEntry:
        return await self.remember(
            who, ToRemember(project=project.id, key=key, value=value, label=label)
        )

    async def some_work(
        self,
        who: Principal,
        project: Project,
        label: Label | None = None,
        *depends: WorkItemId,
    ) -> WorkItem:
        wanted = NewWorkItem(project=project.id, title="Mend it", label=label, depends=depends)
        return await self.add_work(who, wanted)

    async def context(self, who: Principal) -> TaintContext:
        return await self.marks.at(who)

    async def archive(self, project: Project) -> None:
        place = next(key for key in self.world.projects if key[1] == project.id)
        self.world.projects[place] = replace(project, archived_at=self.clock.now())


@dataclass(frozen=True, slots=True)
class Scene:
    """Two agents in a project of the team: one that may see all, and one that may see the team's;
    and another of the first kind, who has read nothing yet."""

    room: ThingsRoom
    project: Project
    high: Principal
    low: Principal
    fresh: Principal


async def a_scene(label: Label = TEAM) -> Scene:
    room = ThingsRoom()
    high, low, fresh = room.enters("high"), room.enters("low", TEAM), room.enters("fresh")
    project = await room.a_project(room.enters("maker"), label)
    return Scene(room, project, high, low, fresh)
