"""A small world made by chance: people, servers that lie about themselves, rules, and a plan."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, Literal

from portico.gateway.core.catalog_snapshot import Tool, ToolRef
from portico.gateway.core.servers import Http, Server
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.gateway import a_tool, an_approved_server
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.scenarios.effect_oracle import Place, Said, Secrecy, Somebody, Thing

SERVERS: Final = ("alpha", "beta", "beta2")
NAMES: Final = ("read", "get_status", "send", "drop", "read.all")
"""The same on every server; names promise nothing."""
GLOBS: Final = ("*", "alpha.*", "beta.*", "*.read", "*.send", "beta.drop", "alpha.read*", "?eta.*")
EFFECTS: Final = tuple(Effect)
CLAIMS: Final[tuple[JsonObject, ...]] = (
    {},
    {"readOnlyHint": True},
    {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True},
)
LATER: Final = datetime(2090, 1, 1, tzinfo=UTC)
EARLIER: Final = BEGINNING - timedelta(days=1)
_WIDEST: Final = Label(Level.RESTRICTED, frozenset({"hr"}))
FAR: Final = Http("https://tools.example/mcp")
WHO: Final = ("ana", "*", "role:member", "role:viewer", "kind:agent", "key:key-one", "bo?")
Moment = Literal["before", "deciding", "taking_in", "beginning", "between_tries"]
MOMENTS: Final[tuple[Moment, ...]] = (
    "before",
    "deciding",
    "taking_in",
    "beginning",
    "between_tries",
)
Forged = Literal["no", "arguments", "person", "tool", "definition"]
FORGED: Final[tuple[Forged, ...]] = ("no", "arguments", "person", "tool", "definition")
Change = Literal[
    "definition", "renamed", "gone", "worse", "off", "launch", "clearance", "label", "distrust"
]
CHANGES: Final[tuple[Change, ...]] = (
    "definition",
    "renamed",
    "gone",
    "worse",
    "off",
    "launch",
    "clearance",
    "label",
    "distrust",
)


@dataclass(frozen=True)
class Wish:
    """Somebody wants a tool to be called; something may change meanwhile."""

    who: int
    tool: ToolRef
    arguments: dict[str, str]
    change: tuple[Moment, Change] | None = None
    breaks: bool = False
    """Its server breaks off at the first try, before anything has arrived there."""
    forged: Forged = "no"
    """On the path of tickets: for what else than was approved it is used."""


@dataclass
class World:
    """`does` is what each definition really does: the servers know, and the oracle."""

    people: list[Principal]
    servers: dict[str, Server]
    tools: dict[str, list[Tool]]
    does: dict[tuple[str, str], str]
    """By server and pin."""
    rules: list[Rule]
    plan: list[Wish]
    said: list[Said] = field(default_factory=list)

    def thing(self, ref: ToolRef) -> Thing | None:
        """What is there at this moment under this name."""
        for tool in self.tools.get(ref.server, ()):
            if tool.ref == ref and not tool.gone:
                does = self.does[ref.server, tool.pin]
                return Thing(str(ref), self.place(ref.server), does, _approved(tool))
        return None

    def believed(self, ref: ToolRef) -> str:
        """The operator's word on it."""
        return next(str(its.effect) for its in self.tools[ref.server] if its.ref == ref)

    def place(self, name: str) -> Place:
        server = self.servers[name]
        usable = server.enabled and server.approved_launch_pin == server.launch_pin
        return Place(
            name,
            usable and server.tools_accepted,
            secrecy(server.label),
            secrecy(server.clearance),
            trusted=server.trusted,
            away=server.launch == FAR,
        )

    def somebody(self, caller: Principal) -> Somebody:
        return Somebody(
            id=str(caller.id),
            name=caller.name,
            kind=str(caller.kind),
            roles=frozenset(caller.roles),
            key=caller.key or "",
            task=str(caller.context) if caller.context else f"of {caller.key}",
            may_call="tools:call" in caller.scopes,
            may_write="tools:write" in caller.scopes,
            lists=caller.tools,
            cleared_for=secrecy(caller.clearance),
        )

    def change(self, which: Change, ref: ToolRef, dice: random.Random) -> None:
        """Told to Portico as such things are: a listing has another pin, an operator signs."""
        server = self.servers[ref.server]
        match which:
            case "definition" | "renamed" | "gone":
                self._listed_anew(which, ref, dice)
            case "worse":
                self._worse(ref, dice)
            case "off":
                server = replace(server, enabled=False)
            case "launch":
                server = replace(server, launch_pin="another launch")
            case "clearance":
                server = replace(server, clearance=Label(Level.PUBLIC))
            case "label":
                server = replace(server, label=Label(Level.RESTRICTED, frozenset({"hr"})))
            case "distrust":
                server = replace(server, trusted=False)
        moved = BEGINNING + timedelta(seconds=dice.getrandbits(20))
        self.servers[ref.server] = replace(
            server, set_pin=f"{dice.getrandbits(64):x}", approved_at=moved
        )

    def _listed_anew(self, which: str, ref: ToolRef, dice: random.Random) -> None:
        """Its server says something else of it by now, and may do something else."""
        after: list[Tool] = []
        for tool in self.tools[ref.server]:
            if tool.ref != ref:
                after.append(tool)
            elif which == "gone":
                after.append(replace(tool, gone=True))
            else:
                name = ref if which == "definition" else ToolRef(ref.server, f"{ref.name}_file")
                anew = defined(
                    str(name), f"Version {dice.getrandbits(20)}.", dice.randrange(len(CLAIMS))
                )
                after.append(
                    replace(
                        anew,
                        effect=tool.effect,
                        accepted=tool.accepted,
                        accepted_pin=tool.accepted_pin,
                    )
                )
                self.does[ref.server, anew.pin] = str(dice.choice(EFFECTS[2:6]))
        self.tools[ref.server] = after

    def _worse(self, ref: ToolRef, dice: random.Random) -> None:
        """An operator has learnt that it does more than they thought."""
        for number, tool in enumerate(self.tools[ref.server]):
            if tool.ref == ref:
                now = dice.choice([its for its in EFFECTS if its.rank >= tool.effect.rank])
                self.tools[ref.server][number] = replace(tool, effect=now)
                if now is not Effect.UNKNOWN:
                    self.does[ref.server, tool.pin] = str(now)


def a_world(dice: random.Random) -> World:
    servers = {name: _a_server(name, dice) for name in SERVERS[: dice.randint(1, 3)]}
    world = World(
        people=[_a_caller(number, dice) for number in range(dice.randint(1, 3))],
        servers=servers,
        tools={name: [] for name in servers},
        does={},
        rules=[],
        plan=[],
    )
    for name in servers:
        for tool in dice.sample(NAMES, dice.randint(1, 3)):
            _offer(world, f"{name}.{tool}", dice)
    for number in range(dice.choice((0, 0, 1, 1, 2, 3))):
        rule = _a_rule(number, world.people, dice)
        world.rules.append(rule)
        world.said.append(_as_said(rule))
    world.plan = [_a_wish(world, dice) for _ in range(dice.randint(2, 4))]
    return world


def _offer(world: World, name: str, dice: random.Random) -> None:
    """What it does is as its operator says, or less, or nobody has said. Its own claims are
    whatever it likes."""
    does = dice.choice(EFFECTS[:6])
    tool = defined(name, f"Does things, {does} or so.", dice.randrange(len(CLAIMS)))
    believed = dice.choices([does, Effect.UNKNOWN, Effect.IRREVERSIBLE], (8, 1, 1))[0]
    standing = dice.choices(["live", "new", "changed", "refused", "gone"], (30, 1, 1, 1, 1))[0]
    if standing != "new":
        pin = "another" if standing == "changed" else tool.pin
        tool = replace(tool, effect=believed, accepted=tool.definition, accepted_pin=pin)
    if standing == "refused":
        tool = replace(tool, refused="hides letters")
    tool = replace(tool, gone=standing == "gone")
    world.tools[tool.ref.server].append(tool)
    world.does[tool.ref.server, tool.pin] = str(does)


def _a_wish(world: World, dice: random.Random) -> Wish:
    if dice.random() < 0.95:
        tool = dice.choice([its for tools in world.tools.values() for its in tools]).ref
    else:
        tool = ToolRef(dice.choice(list(world.servers)), dice.choice(NAMES))
    change = (dice.choice(MOMENTS), dice.choice(CHANGES)) if dice.random() < 0.2 else None
    return Wish(
        who=dice.randrange(len(world.people)),
        tool=tool,
        arguments={"path": dice.choice("ab")},
        change=change,
        breaks=change is not None and change[0] == "between_tries",
        forged=dice.choices(FORGED, (3, 1, 1, 1, 1))[0],
    )


@cache
def defined(name: str, description: str, claim: int) -> Tool:
    return a_tool(name, description, annotations=CLAIMS[claim])


def _a_server(name: str, dice: random.Random) -> Server:
    server = replace(
        _approved_server(name),
        label=_a_label(dice, (5, 2, 1, 1)),
        clearance=_a_label(dice, (2, 4, 2, 1)),
        trusted=dice.random() < 0.3,
    )
    if dice.random() < 0.3:
        server = replace(server, launch=FAR)
    usable: dict[str, Any] = {}
    off = {"enabled": False}
    launch = {"launch_pin": "not the one that was approved"}
    unseen = {"tools_accepted": False}
    ways: list[dict[str, Any]] = [usable, off, launch, unseen]
    return replace(server, **dice.choices(ways, (40, 1, 1, 1))[0])


@cache
def _approved_server(name: str) -> Server:
    return an_approved_server(name)


def _a_label(dice: random.Random, weights: Sequence[int]) -> Label:
    compartments = frozenset({"hr"} if dice.random() < 0.15 else ())
    return Label(dice.choices(list(Level), weights)[0], compartments)


def _a_caller(number: int, dice: random.Random) -> Principal:
    """Some are one person with two keys, some share a task, some have a key of their own."""
    name = dice.choice(["ana", "bob", "cy"])
    clearance = _WIDEST if dice.random() < 0.6 else _a_label(dice, (1, 2, 2, 3))
    key = dice.choice(["key-one", f"key-{number + 2}"])
    kind = dice.choice(list(PrincipalKind))
    return replace(
        _person(name),
        kind=kind,
        roles=frozenset({dice.choice(["viewer", "member", "operator"])}),
        scopes=frozenset(
            dice.choices(
                [{"tools:call", "tools:write"}, {"tools:call"}, {"tools:write"}, set()],
                (16, 3, 1, 1),
            )[0]
        ),
        clearance=clearance,
        reach=_WIDEST if dice.random() < 0.7 else None,
        key=f"{key} of {name}" if key != "key-one" else key,
        tools=tuple(_a_list(dice) for _ in range(dice.choices((0, 1, 2), (6, 2, 1))[0])),
        context=_task(name) if dice.random() < 0.3 else None,
    )


def _a_list(dice: random.Random) -> tuple[str, ...]:
    return tuple(dice.sample(GLOBS, dice.choice((1, 2, 4))))


@cache
def _person(name: str) -> Principal:
    return a_person(name)


@cache
def _task(name: str) -> ContextId:
    return ContextId.mint(BEGINNING, SeededEntropy(f"task of {name}"))


def _a_rule(number: int, people: Sequence[Principal], dice: random.Random) -> Rule:
    tasks = [who.context for who in people if who.context is not None]
    ends = dice.choices([None, LATER, EARLIER], (6, 2, 1))[0]
    return Rule(
        name=f"rule {number}",
        ruling=dice.choice([Ruling.ALLOW, Ruling.ASK, Ruling.DENY]),
        tools=tuple(dice.sample(GLOBS, dice.choice((1, 1, 2)))),
        but=tuple(dice.sample(GLOBS[1:], dice.choice((0, 0, 1)))),
        who=tuple(dice.sample(WHO, dice.choice((0, 1, 2)))),
        effects=frozenset(dice.sample(EFFECTS, dice.choice((0, 0, 1, 2)))),
        reads=dice.random() < 0.3,
        tainted=dice.random() < 0.3,
        max_label=_a_label(dice, (3, 2, 1, 2)),
        context=dice.choice(tasks) if tasks and dice.random() < 0.2 else None,
        expires_at=ends,
    )


def _as_said(rule: Rule) -> Said:
    return Said(
        ruling=rule.ruling.value,
        tools=rule.tools,
        but=rule.but,
        who=rule.who,
        effects=frozenset(map(str, rule.effects)),
        reads=rule.reads,
        tainted=rule.tainted,
        upto=secrecy(rule.max_label),
        task=None if rule.context is None else str(rule.context),
        over=rule.expires_at == EARLIER,
    )


def _approved(tool: Tool) -> bool:
    return tool.refused is None and tool.accepted_pin == tool.pin


def secrecy(label: Label) -> Secrecy:
    return int(label.level), label.compartments
