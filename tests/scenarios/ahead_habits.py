"""People with habits: the same few calls over and over, with a detour now and then.

Here it is the product that foretells. What it may make of it hangs on how often something was
seen, and by whom: nobody is served from what was learnt in a task that had read more than theirs.
Servers answer as they like, and say which tool is to be called next.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from portico.gateway.core.tool import ToolRef
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from tests.scenarios.ahead_moves import MOVES
from tests.scenarios.ahead_play import Play

From = Literal["word", "everybody", "next", "again"]
"""Where a step's argument comes from: what the caller has said, nobody, the last answer, the first
argument."""
SECRET: Final = Label(Level.RESTRICTED, frozenset({"hr"}))
_LATER: Final = timedelta(minutes=31)
_MEANWHILE: Final = ("change", "approve", "approve", "switch", "switch", "demote")


@dataclass(frozen=True)
class Step:
    tool: ToolRef
    given: From


@dataclass(frozen=True)
class Habit:
    callers: tuple[Principal, ...]
    steps: tuple[Step, ...]


def a_habit(play: Play) -> Habit:
    """Of one, or of all; of what most of them may do."""
    ways: tuple[From, ...] = ("next", "next", "again", "everybody")
    many = play.dice.choice((2, 2, 3))
    first = Step(play.tool(0.95), play.dice.choice(("word", "everybody")))
    rest = [Step(play.tool(0.95), play.dice.choice(ways)) for _ in range(many - 1)]
    callers = play.scene.world.people if play.dice.random() < 0.5 else [play.caller()]
    return Habit(tuple(callers), (first, *rest))


async def some_sessions(play: Play, habit: Habit, many: int) -> None:
    """The first half is one caller's alone, who may have read something secret before."""
    first = habit.callers[0]
    if play.dice.random() < 0.4:
        play.ways.has_read(first, SECRET)
    for number in range(many):
        alone = number < many // 2
        await _one_session(play, habit, first if alone else play.dice.choice(habit.callers))


async def _one_session(play: Play, habit: Habit, caller: Principal) -> None:
    """With a detour, or broken off, now and then; an operator may do something meanwhile."""
    dice = play.dice
    play.scene.oracle.stands(play.scene.world.somebody(caller))
    first = _a_word(play, caller)
    if dice.random() < 0.7:
        play.ways.say(caller, f"look for {first}")
        await play.ways.settled()
    for step in habit.steps:
        await _meanwhile(play)
        path = _path(play, caller, step, first)
        if path is None:
            break
        await play.call(caller, step.tool, {"path": path})
        await play.ways.settled()
        if dice.random() < 0.7:
            play.scene.let_go()
            await play.ways.settled()
    play.scene.clock.turn(_LATER)


def _a_word(play: Play, caller: Principal) -> str:
    """Their own, or what a server has told them before."""
    given = play.answers.get(play.scene.world.somebody(caller).task, [])
    own = f"word{play.dice.getrandbits(24)}x"
    return play.dice.choice(given[-4:]) if given and play.dice.random() < 0.2 else own


async def _meanwhile(play: Play) -> None:
    if play.dice.random() < 0.1:
        await MOVES["call"][1](play)
        await play.ways.settled()
    if play.dice.random() < 0.02:
        await MOVES[play.dice.choice(_MEANWHILE)][1](play)


def _path(play: Play, caller: Principal, step: Step, first: str) -> str | None:
    given = play.answers.get(play.scene.world.somebody(caller).task, [])
    match step.given:
        case "next":
            return given[-1] if given else None
        case "everybody":
            return "notes"
        case _:
            return first
