"""The run of a storm of agents: what its model says, and what the outside must have seen of it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from portico.bench.agents_model import Asked
from portico.bench.agents_scripts import Script, Turn, Wish
from tests.storm.plan_tools import WRITES

READS = ("look", "list")


def _turn(number: int, *tools: str) -> Turn:
    """Each call is known outside by the name of its step."""
    calls = [
        Wish(tool=tool, arguments={"plan": "$run", "step": f"call-{number}-{place}"})
        for place, tool in enumerate(tools)
    ]
    return Turn(calls=calls)


def _script(name: str, *turns: Sequence[str]) -> Script:
    made = [_turn(number, *tools) for number, tools in enumerate(turns, 1)]
    return Script(name=name, turns=[*made, Turn()], reads=READS)


TEN = _script(
    "ten",
    ["look"],
    ["change"],
    ["look", "list"],
    ["delete"],
    ["look"],
    ["change", "look"],
    ["fail"],
    ["delete"],
    ["change", "look"],
)
"""Ten turns: reads, changes, one call that fails, and two that a person must approve."""
THREE = _script("three", ["look"], ["change"])
SCRIPTS = (TEN, THREE)


def writes_of(script: Script) -> Counter[str]:
    return Counter(
        str(call.arguments["step"])
        for turn in script.turns
        for call in turn.calls
        if call.tool in WRITES
    )


def answer_of(script: Script, run: str) -> str:
    steps = [
        str(call.arguments["step"])
        for turn in script.turns
        for call in turn.calls
        if call.tool in READS
    ]
    return script.answer(run, steps)


def asked_again(
    run: str, asked: Iterable[Asked], written: Mapping[int, float]
) -> list[tuple[int, float]]:
    """The questions that came after the answer to them was written down: paid for twice."""
    return [
        (each.turn, each.came - written[each.turn])
        for each in asked
        if each.run == run and each.turn in written and each.came > written[each.turn]
    ]


def questions(run: str, asked: Iterable[Asked]) -> Counter[int]:
    return Counter(each.turn for each in asked if each.run == run)


Trace = dict[str, Any]
