"""What is so in a world in which calls are made ahead of time, and what has happened in it."""

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.servers import WORKFLOWS, Inside
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, TickingClock
from tests.scenarios.ahead_oracle import AheadOracle
from tests.scenarios.effect_oracle import READS, Somebody
from tests.scenarios.effect_world import Change, World, a_world

_TICK: Final = timedelta(milliseconds=1)


@dataclass
class Scene:
    world: World
    dice: random.Random
    oracle: AheadOracle = field(default_factory=AheadOracle)
    wrong: list[str] = field(default_factory=list)
    clock: TickingClock = field(default_factory=lambda: TickingClock(step=_TICK))
    calling: dict[asyncio.Task[object], Principal] = field(default_factory=dict)
    """The calls that somebody has made themselves."""
    saying: set[asyncio.Task[object] | None] = field(default_factory=set)
    """Where somebody just says what they want."""
    held: list[asyncio.Event] = field(default_factory=list)
    """What is read ahead, and not answered yet."""
    holds: bool = True
    """Whether servers may take their time with what is read ahead."""
    fails: float = 0.1
    """How often a tool fails."""
    while_deciding: tuple[Change, ToolRef] | None = None
    """What changes when the guard is next asked about something that nobody has asked for."""
    written: list[str] = field(default_factory=list)
    """Whatever is kept of calls, as text."""
    revoked: set[tuple[str, str | None]] = field(default_factory=set)
    """Who, with which key."""
    foretold_wrongly: dict[str, str] = field(default_factory=dict)
    """What was foretold in a way that must not be acted on, and why not."""
    foretold_well: set[str] = field(default_factory=set)
    quick: set[str] = field(default_factory=set)
    """Tools that answer so soon that nothing is won."""
    asleep: set[str] = field(default_factory=set)
    busy: set[str] = field(default_factory=set)
    ran_ahead: int = 0

    def as_now(self, caller: Principal) -> Principal:
        """With what they may by now, in the task that they are at."""
        same = [it for it in self.world.people if (it.id, it.key) == (caller.id, caller.key)]
        return replace(same[0], context=caller.context)

    def seconds(self) -> float:
        return (self.clock.now() - BEGINNING).total_seconds()

    def only_reads(self, ref: ToolRef) -> bool:
        """Really, whatever anybody says."""
        thing = self.world.thing(ref)
        return thing is not None and thing.does in READS

    def can_be_read(self, ref: ToolRef) -> bool:
        thing = self.world.thing(ref)
        return self.only_reads(ref) and thing is not None and thing.approved and thing.place.usable

    def approve(self, name: str) -> None:
        """As it is now, its tools for what they really do."""
        world = self.world
        server = world.servers[name]
        world.servers[name] = replace(
            server,
            enabled=True,
            approved_launch_pin=server.launch_pin,
            tools_accepted=True,
            set_pin=f"{self.dice.getrandbits(64):x}",
        )
        world.tools[name] = [
            replace(
                tool,
                effect=Effect(world.does[name, tool.pin]),
                accepted=tool.definition,
                accepted_pin=tool.pin,
            )
            for tool in world.tools[name]
        ]
        self.oracle.note(f"{name} was approved", server=name)

    def change(self, which: Change, ref: ToolRef) -> None:
        self.world.change(which, ref, self.dice)
        self.oracle.note(f"{ref.server} has changed ({which})", server=ref.server)

    def let_go(self) -> None:
        """The servers answer what they were asked."""
        for each in self.held:
            each.set()
        self.held.clear()

    def version(self, ref: ToolRef) -> str:
        pins = [its.pin for its in self.world.tools.get(ref.server, ()) if its.ref == ref]
        return f"{pins} {self.world.servers[ref.server].launch_pin}"

    def find_wrong(self, found: str) -> None:
        self.wrong.append(found)


def as_written(arguments: JsonObject) -> str:
    """To the letter, whatever the order is: 1 is not 1.0, and no text is another."""
    return json.dumps(arguments, sort_keys=True, ensure_ascii=True)


def as_foretold(who: Somebody, tool: str, arguments: JsonObject) -> str:
    return f"{who.id} {who.task} {tool} {as_written(arguments)}"


_WIDEST: Final = Label(Level.RESTRICTED, frozenset({"hr"}))
_BOTH: Final = frozenset({"tools:call", "tools:write"})


def a_scene(seed: str, *, oddities: int = 20) -> Scene:
    """Most people may most things, so that something is done at all; of so many servers four are
    what nobody should call ahead of time."""
    dice = random.Random(seed)
    world = a_world(dice)
    world.people[:] = [_a_caller(world, number, dice) for number in range(len(world.people))]
    scene = Scene(world, dice)
    oracle = scene.oracle
    oracle.guard.rules = world.said
    oracle.switched.outside = {name for name in world.servers if dice.random() < 0.7}
    oracle.at_once, oracle.at_once_each = dice.choice((1, 2, 4, 4)), dice.choice((1, 2))
    oracle.a_minute = dice.choice((2, 60))
    oracle.price = dice.choice((0.0, 0.0, 0.04))
    for name in world.servers:
        _ODDITIES.get(dice.randrange(oddities), _usual)(scene, name)
    return scene


def _a_caller(world: World, number: int, dice: random.Random) -> Principal:
    """No two are one person with one key."""
    who = world.people[number]
    if dice.random() < 0.8:
        who = replace(who, clearance=_WIDEST, scopes=_BOTH, tools=())
    before = {(its.id, its.key) for its in world.people[:number]}
    return replace(who, key=f"{who.key} {number}") if (who.id, who.key) in before else who


def _usual(scene: Scene, name: str) -> None: ...


def _sleeps(scene: Scene, name: str) -> None:
    scene.asleep.add(name)


def _is_busy(scene: Scene, name: str) -> None:
    scene.busy.add(name)


def _is_quick(scene: Scene, name: str) -> None:
    scene.quick |= {str(tool.ref) for tool in scene.world.tools[name]}


def _holds_workflows(scene: Scene, name: str) -> None:
    server = scene.world.servers[name]
    scene.world.servers[name] = replace(server, launch=Inside(WORKFLOWS, "1"))


_ODDITIES: Final[Mapping[int, Callable[[Scene, str], None]]] = {
    0: _sleeps,
    1: _is_busy,
    2: _is_quick,
    3: _holds_workflows,
}
