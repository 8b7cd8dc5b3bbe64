"""The other doors of a world that is looked on: rules, tasks, and whatever is written down."""

import asyncio
from datetime import datetime, timedelta
from typing import Final

from portico.gateway.core.call import Answer, Call, CallClaim, Called
from portico.gateway.core.server import ServerId
from portico.gateway.ports import Line
from portico.guard.core.act import Act, NeedsApproval
from portico.guard.core.approval import Waiter
from portico.guard.core.audit_entry import AuditEntry
from portico.guard.core.errors import ApprovalPending
from portico.guard.core.rules import Rule
from portico.kernel.ids import ApprovalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.guard_policy import MemoryContexts
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.scenarios.ahead_scene import Scene
from tests.scenarios.ahead_servers import DECIDED_FOR
from tests.scenarios.effect_oracle import Place
from tests.scenarios.effect_world import secrecy

_LATER: Final = timedelta(hours=1)


class SceneRules:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def all(self, caller: Principal) -> list[Rule]:
        scene = self._scene
        DECIDED_FOR.set(caller)
        if asyncio.current_task() not in scene.calling and scene.while_deciding is not None:
            which, ref = scene.while_deciding
            scene.while_deciding = None
            scene.change(which, ref)
        return scene.world.rules


class SceneContexts(MemoryContexts):
    """What nobody was given raises no task. Whoever is shown what more secret work has taught has
    read it."""

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self._scene = scene

    async def rise(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
        scene, task = self._scene, asyncio.current_task()
        if task in scene.saying:
            read = Place("the past", usable=True, secrecy=secrecy(label), trusted=True)
            scene.oracle.guard.memory(scene.world.somebody(caller)).take_in(read)
        elif task not in scene.calling:
            scene.find_wrong(f"raise: the task of {caller.name} was raised to {label}")
        await super().rise(caller, label, untrusted=untrusted)


class SceneHistory:
    """What is kept of calls is looked through afterwards."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def begin(self, caller: Principal, call: Call) -> None:
        self._scene.written.append(repr(call))

    async def begin_once(self, caller: Principal, call: Call, claim: CallClaim) -> None:
        self._scene.written.append(repr(call))

    async def record(self, caller: Principal, call: Call) -> None:
        self._scene.written.append(repr(call))


class SceneLessons:
    """The other learner, of whom it is only of interest what it is told."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def note(
        self, act: Act, server: ServerId, began: datetime, answer: Answer, *, in_run: bool = False
    ) -> None:
        self._scene.written.append(repr((act.arguments, answer)))


class SceneJournal:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def note(self, caller: Principal, *entries: AuditEntry) -> None:
        self._scene.written += map(repr, entries)

    async def note_ahead(self, caller: Principal, entry: AuditEntry) -> None:
        self._scene.written.append(repr(entry))

    def note_behind(self, caller: Principal, entry: AuditEntry) -> None:
        self._scene.written.append(repr(entry))


class NobodyAnswers:
    """Whoever has to be asked is not there. For what nobody has asked for, they must not be."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def __call__(
        self,
        act: Act,
        decision: NeedsApproval,
        *,
        line: Line | None,
        whole: bool,
        waiter: Waiter | None = None,
    ) -> Called:
        if asyncio.current_task() not in self._scene.calling:
            self._scene.find_wrong(f"approval: somebody was asked about {act.aim.tool}")
        approval = ApprovalId.mint(BEGINNING, SeededEntropy(act.hash))
        raise ApprovalPending(act.aim.tool, str(approval), BEGINNING + _LATER)

    async def in_place(
        self, act: Act, *, line: Line | None, whole: bool, waiter: Waiter | None = None
    ) -> Called | None:
        return None
