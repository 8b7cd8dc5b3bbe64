"""Somebody who plays a world: calls what is there, and looks on at what it is given.

What is given for a call was made for it, or was there before; of the latter the oracle is asked.
"""

import asyncio
import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol

from portico.gateway.core.call import Answer, Called
from portico.gateway.core.tool import ToolRef
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.scenarios.ahead_oracle import MARK, Served
from tests.scenarios.ahead_scene import Scene, as_written
from tests.scenarios.effect_world import CHANGES

_SPINS: Final = 12
"""How often others have their turn while somebody waits."""


class Ways(Protocol):
    """How things are brought about in a house."""

    async def call(self, caller: Principal, ref: ToolRef, arguments: JsonObject) -> Called: ...

    def say(self, caller: Principal, words: str) -> None:
        """Somebody looks for something."""
        ...

    def has_read(self, caller: Principal, label: Label) -> None:
        """Elsewhere, in the task that they are at."""
        ...

    async def foretell(self, caller: Principal, ref: ToolRef, arguments: JsonObject) -> bool:
        """Somebody says that this comes next; whether it is under way then."""
        ...

    async def suggest(self, caller: Principal, plan: JsonObject) -> None:
        """Somebody has said what they want, and this is the plan for it, sure enough."""
        ...

    async def switch(self, caller: Principal) -> None:
        """What the oracle knows to be switched is in force."""
        ...

    async def settled(self) -> None:
        """Whatever goes on beside the callers has had its turn."""
        ...


@dataclass(frozen=True)
class Foretold:
    caller: Principal
    ref: ToolRef
    arguments: JsonObject


@dataclass
class Play:
    scene: Scene
    ways: Ways
    foretold: list[Foretold] = field(default_factory=list)
    answers: dict[str, list[str]] = field(default_factory=dict)
    """Values that each task was given."""
    served: int = 0
    made: int = 0
    refused: int = 0

    @property
    def dice(self) -> random.Random:
        return self.scene.dice

    async def call(self, caller: Principal, ref: ToolRef, arguments: JsonObject) -> None:
        """While it waits for what is read ahead already, something may change; then servers
        answer."""
        scene, before = self.scene, len(self.scene.oracle.asked)
        caller, version = scene.as_now(caller), scene.version(ref)
        if (str(caller.id), caller.key) in scene.revoked:
            return
        calling = asyncio.create_task(self._called(caller, ref, arguments))
        scene.calling[calling] = caller
        for _ in range(_SPINS):
            await asyncio.sleep(0)
            if calling.done():
                break
        else:
            if self.dice.random() < 0.3:
                scene.change(self.dice.choice(CHANGES), ref)
            scene.let_go()
        answer = await calling
        del scene.calling[calling]
        if answer is None:
            self.refused += 1
            return
        number = _number(answer)
        if number < before or scene.oracle.asked[number].ahead:
            self._judge(
                caller, Served(number, str(ref), as_written(arguments), version, _told(answer))
            )
        elif _told(answer):
            scene.find_wrong(f"told: {ref} says that it was read before")
        else:
            self.made += 1
        self._hand_over(caller, ref, answer)

    async def _called(
        self, caller: Principal, ref: ToolRef, arguments: JsonObject
    ) -> Answer | None:
        with suppress(PorticoError):
            return (await self.ways.call(caller, ref, arguments)).answer
        return None

    def _judge(self, caller: Principal, served: Served) -> None:
        scene, oracle = self.scene, self.scene.oracle
        self.served += 1
        oracle.given[served.number] += 1
        who, thing = scene.world.somebody(caller), scene.world.thing(ToolRef.parse(served.tool))
        found = [*oracle.wrong_served(who, served, scene.clock.now())]
        if thing is None or oracle.guard.verdict(who, thing) != "run":
            found.append("guard: it was given to somebody who may not call it")
        else:
            oracle.guard.memory(who).take_in(thing.place)
        scene.wrong += [f"{each}: {served} to {who}" for each in found]

    def _hand_over(self, caller: Principal, ref: ToolRef, answer: Answer) -> None:
        who, oracle = self.scene.world.somebody(caller), self.scene.oracle
        if isinstance(answer.structured, Mapping):
            values = self.answers.setdefault(who.task, [])
            values += [str(answer.structured["id"]), str(answer.structured["next"])]
        oracle.stands(who, str(ref))

    def caller(self) -> Principal:
        return self.dice.choice(self.scene.world.people)

    def tool(self, reads_share: float = 0.75) -> ToolRef:
        every = [its.ref for tools in self.scene.world.tools.values() for its in tools]
        reads = [ref for ref in every if self.scene.can_be_read(ref)]
        return self.dice.choice(reads if reads and self.dice.random() < reads_share else every)

    def arguments(self, caller: Principal) -> JsonObject:
        """A word of the caller's own, one of everybody's, or one that a server gave in the task."""
        given = self.answers.get(self.scene.world.somebody(caller).task, [])
        value = self.dice.choice(given) if given and self.dice.random() < 0.5 else None
        words = value or self.dice.choice(["notes", "Notes", f"word{self.dice.getrandbits(12)}x"])
        ways: list[JsonObject] = [{"path": words}, {"path": words, "lines": 1}, {"path": 7}]
        return self.dice.choices(ways, (10, 5, 1))[0]


def _number(answer: Answer) -> int:
    found = MARK.search(str(answer.content[0].get("text", "")))
    assert found is not None
    return int(found.group(2))


def _told(answer: Answer) -> bool:
    return answer.meta is not None and "portico/ahead" in answer.meta
