"""What is so in a world in which calls are made ahead of time, and what has happened in it."""

import asyncio
import json
import random
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from portico.gateway.core.tool import ToolRef
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, TickingClock
from tests.scenarios.ahead_oracle import AheadOracle
from tests.scenarios.effect_oracle import READS, Somebody
from tests.scenarios.effect_world import Change, World

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
