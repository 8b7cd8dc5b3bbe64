"""The work of `just bench agents`: what its scripted model says in each of its measurements."""

from collections.abc import Sequence
from typing import Final

from benchmarks.agents_scripts import Script, Turn, Wish

TURNS: Final = 10
TOOL_SECONDS: Final = 0.1
TURN_SECONDS: Final = 3.0
"""Of a turn where many runs go on at once: 40 tokens after half a second of reading."""
FIRST: Final = 0.2
READ_SECONDS: Final = 0.15
SLOW_READ_SECONDS: Final = 0.6
EARLY_TURN: Final = 0.9
EARLY_TURNS: Final = 4


def _look(step: str, seconds: float, closes: float = 1.0) -> Wish:
    arguments = {"run": "$run", "step": step, "seconds": seconds}
    return Wish(tool="look", arguments=arguments, closes=closes)


def _working(name: str, turns: int, seconds: float, first: float, takes: float) -> Script:
    """Every turn but the last wants one call made."""
    made = [
        Turn(seconds=seconds, first=first, pieces=40, calls=[_look(f"s{number}", takes)])
        for number in range(1, turns)
    ]
    return Script(name=name, turns=[*made, Turn(seconds=seconds, first=first)])


def _several(name: str, reads: Sequence[tuple[float, float]]) -> Script:
    """Turns that want several calls made: how long each takes, and when its arguments are whole."""
    turns = [
        Turn(
            seconds=EARLY_TURN,
            first=FIRST,
            calls=[
                _look(f"s{number}-{place}", takes, closes)
                for place, (takes, closes) in enumerate(reads)
            ],
        )
        for number in range(1, EARLY_TURNS)
    ]
    return Script(name=name, turns=[*turns, Turn(seconds=FIRST, first=FIRST)])


LEAN: Final = _working("lean", TURNS, 0.0, 0.0, 0.0)
"""Nobody waits for anything: what is left is work."""
SHORT: Final = _working("short", 2, 0.0, 0.0, 0.0)
PLAIN: Final = _working("plain", 1, 0.0, 0.0, 0.0)
STORM: Final = _working("storm", TURNS, TURN_SECONDS, 0.5, TOOL_SECONDS)
HELLO: Final = _working("hello", 1, FIRST + 0.3, FIRST, 0.0)
SPREAD: Final = _several(
    "spread", [(READ_SECONDS, 0.25), (READ_SECONDS, 0.5), (READ_SECONDS, 0.75)]
)
"""All three are asked for well before the turn ends."""
TO_THE_END: Final = _several(
    "to-the-end", [(READ_SECONDS, 1 / 3), (READ_SECONDS, 2 / 3), (READ_SECONDS, 1.0)]
)
"""The last one ends the turn, as it mostly does: where all take as long, that one is waited for."""
SLOW_FIRST: Final = _several(
    "slow-first", [(SLOW_READ_SECONDS, 1 / 3), (READ_SECONDS, 2 / 3), (READ_SECONDS, 1.0)]
)
EARLY: Final = (SPREAD, TO_THE_END, SLOW_FIRST)
ALL: Final = (LEAN, SHORT, PLAIN, STORM, HELLO, *EARLY)


def calls_of(script: Script) -> int:
    return sum(len(turn.calls) for turn in script.turns)


def wanted_answer(script: Script, run: str) -> str:
    """What the last turn says where every call gave what it should."""
    steps = [str(call.arguments["step"]) for turn in script.turns for call in turn.calls]
    return script.answer(run, steps)
