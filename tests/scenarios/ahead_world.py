"""The worlds in which it is tried what is done ahead of time, made by chance."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from portico.gateway.core.server import WORKFLOWS, Inside
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from tests.scenarios.ahead_scene import Scene
from tests.scenarios.effect_world import World, a_world

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
