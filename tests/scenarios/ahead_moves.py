"""What people, servers and operators do in a world, one move after another, by chance.

Somebody foretells calls who knows nothing of what is allowed and is on nobody's side: whatever a
result could make the prediction say, this has said it. Then the same call is made by whom it was
foretold for, by somebody else, in another task, with other arguments, too late, after a change."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from typing import Final, Protocol

from portico.gateway.core.calls import Called, ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ContextId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.scenarios.ahead_oracle import MARK, Served
from tests.scenarios.ahead_scene import Scene, as_foretold, as_written
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
    ) -> ToolResult | None:
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

    def _hand_over(self, caller: Principal, ref: ToolRef, answer: ToolResult) -> None:
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


def _number(answer: ToolResult) -> int:
    found = MARK.search(str(answer.content[0].get("text", "")))
    assert found is not None
    return int(found.group(2))


def _told(answer: ToolResult) -> bool:
    return answer.meta is not None and "portico/ahead" in answer.meta


async def _foretell(play: Play) -> None:
    caller, ref = play.caller(), play.tool()
    arguments = play.arguments(caller)
    if play.dice.random() < 0.1:
        play.scene.while_deciding = (play.dice.choice(CHANGES), ref)
    begun = await play.ways.foretell(caller, ref, arguments)
    if begun or play.dice.random() < 0.2:
        play.foretold.append(Foretold(caller, ref, arguments))


async def _suggest(play: Play) -> None:
    """A plan for something: what it reads first may be read, and nothing behind a change."""
    caller, steps, changed = play.caller(), list[JsonObject](), False
    for number in range(play.dice.randint(1, 4)):
        ref = play.tool()
        changed = changed or not play.scene.only_reads(ref)
        given: JsonObject = {"path": in_an_intent(play, caller, anew=changed)}
        if steps and play.dice.random() < 0.4:
            given = {"path": _of_the_last(steps)}
        else:
            foresee(play, Foretold(caller, ref, given), staged=changed)
        steps.append({"id": f"s{number}", "tool": str(ref), "arguments": given})
    await play.ways.suggest(caller, {"steps": steps})


def foresee(play: Play, step: Foretold, *, staged: bool) -> None:
    scene = play.scene
    who = scene.world.somebody(scene.as_now(step.caller))
    said = as_foretold(who, str(step.ref), step.arguments)
    if staged:
        scene.foretold_wrongly[said] = "staged: it stands behind what changes something"
        return
    scene.foretold_wrongly.pop(said, None)
    scene.foretold_well.add(said)
    play.foretold.append(step)


def in_an_intent(play: Play, caller: Principal, *, anew: bool) -> str:
    """A word of their own, or what a server has told them: whoever says it need not know that."""
    given = play.answers.get(play.scene.world.somebody(caller).task, [])
    word = f"word{play.dice.getrandbits(30)}x"
    return play.dice.choice(given) if given and not anew and play.dice.random() < 0.5 else word


def _of_the_last(steps: Sequence[JsonObject]) -> JsonObject:
    return {"$from": f"{steps[-1]['id']}.json.next"}


async def _claim(play: Play) -> None:
    """What was foretold, or nearly that."""
    if not play.foretold:
        return
    said = play.dice.choice(play.foretold[-2:])
    way = play.dice.choices([_same, _other_arguments, _other_caller, _other_task], (10, 2, 2, 2))[0]
    meant = way(play, said)
    await play.call(meant.caller, meant.ref, meant.arguments)


def _same(_play: Play, said: Foretold) -> Foretold:
    return said


def _other_arguments(play: Play, said: Foretold) -> Foretold:
    return replace(said, arguments=play.dice.choice(_near(said.arguments)))


def _other_caller(play: Play, said: Foretold) -> Foretold:
    return replace(said, caller=play.caller())


def _other_task(play: Play, said: Foretold) -> Foretold:
    task = _another_task(play.dice.randrange(2))
    other = replace(said.caller, context=task)
    return replace(said, caller=other)


@cache
def _another_task(number: int) -> ContextId:
    return ContextId.mint(BEGINNING, SeededEntropy(f"another task {number}"))


def _near(arguments: JsonObject) -> Sequence[JsonObject]:
    path = str(arguments["path"])
    return [
        {**arguments, "path": f"{path} "},
        {**arguments, "path": path.swapcase()},
        {**arguments, "path": path[:-1]},
        {**arguments, "more": None},
        {**arguments, "lines": True},
        {**arguments, "lines": "1"},
        {"path": path} if "lines" in arguments else {**arguments, "lines": 2},
    ]


async def _call(play: Play) -> None:
    caller = play.caller()
    await play.call(caller, play.tool(), play.arguments(caller))


async def _answer(play: Play) -> None:
    play.scene.let_go()


async def _change(play: Play) -> None:
    play.scene.change(play.dice.choice(CHANGES), play.tool())


async def _approve(play: Play) -> None:
    """An operator looks at a server, and accepts it as it is now."""
    play.scene.approve(play.dice.choice(list(play.scene.world.servers)))


async def _switch(play: Play) -> None:
    """By an operator, of the space or of one server; and back again."""
    switched, caller = play.scene.oracle.switched, play.caller()
    server = play.dice.choice(list(play.scene.world.servers))
    match play.dice.choice(["space", "server", "outside", "on"]):
        case "space":
            switched.on = False
            play.scene.oracle.note("it was switched off")
        case "server":
            switched.off_servers ^= {server}
            play.scene.oracle.note(f"{server} was switched", server=server)
        case "outside":
            switched.outside ^= {server}
        case _:
            switched.on = True
            switched.off_servers.clear()
    await play.ways.switch(caller)


async def _demote(play: Play) -> None:
    """Somebody may less from now on, or their key opens nothing any more. What was decided just
    before is made by then, as it is of calls that somebody asked for."""
    await play.ways.settled()
    people = play.scene.world.people
    number = play.dice.randrange(len(people))
    who = people[number]
    match play.dice.choice(["key", "scopes", "clearance", "list"]):
        case "key":
            play.scene.revoked.add((str(who.id), who.key))
        case "scopes":
            people[number] = replace(who, scopes=frozenset())
        case "clearance":
            people[number] = replace(who, clearance=PUBLIC)
        case _:
            people[number] = replace(who, tools=(*who.tools, ("alpha.*",)))


async def _wait(play: Play) -> None:
    """What was begun before is asked before."""
    await play.ways.settled()
    play.scene.clock.turn(timedelta(seconds=play.dice.choice([1, 5, 11, 70, 1_000])))


Move = Callable[[Play], Awaitable[None]]
MOVES: Final[Mapping[str, tuple[int, Move]]] = {
    "foretell": (30, _foretell),
    "suggest": (8, _suggest),
    "claim": (30, _claim),
    "call": (12, _call),
    "answer": (12, _answer),
    "change": (3, _change),
    "approve": (6, _approve),
    "switch": (4, _switch),
    "demote": (1, _demote),
    "wait": (5, _wait),
}
"""How often each is made, of all of them."""


async def go_on(play: Play, many: int, moves: Mapping[str, tuple[int, Move]] = MOVES) -> None:
    shares = [share for share, _ in moves.values()]
    for _ in range(many):
        _, move = play.dice.choices([*moves.values()], shares)[0]
        await move(play)
        if play.dice.random() < 0.8:
            await play.ways.settled()
