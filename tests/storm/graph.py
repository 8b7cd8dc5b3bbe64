"""A graph of steps that grows as it is walked: branches that meet, split, overtake one another."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from portico.kernel.durable import Begun, Durable
from portico.kernel.json import JsonValue

BRANCHES, LENGTH = 3, 12

Act = Callable[[str, str, Sequence[str]], Awaitable[JsonValue]]


def needs(seed: int) -> dict[str, list[str]]:
    """What each node waits for: the one before it in its branch, and sometimes others."""
    chance = random.Random(seed)
    found: dict[str, list[str]] = {}
    for place in range(LENGTH):
        for branch in range(BRANCHES):
            before = [f"{branch}.{place - 1}"] if place else []
            others = [f"{other}.{place - 1}" for other in range(BRANCHES) if other != branch]
            if place and chance.random() < 0.4:
                before.append(chance.choice(others))
            found[f"{branch}.{place}"] = before
    return found


def expected(seed: int) -> dict[str, JsonValue]:
    """What an unhurried reader comes to: every node with what it was given."""
    given: dict[str, JsonValue] = {}
    for node, before in needs(seed).items():
        given[node] = f"{node}({','.join(str(given[each]) for each in before)})"
    return given


async def walk(durable: Durable, seed: int, act: Act) -> JsonValue:
    """Even seeds by one who begins whatever is ready and goes on from whatever ends first; odd
    ones by branches that go on by themselves, and wait for one another where they meet."""
    return await (_by_branches if seed % 2 else _by_readiness)(durable, seed, act)


async def _by_readiness(durable: Durable, seed: int, act: Act) -> JsonValue:
    waiting, given = needs(seed), dict[str, JsonValue]()
    running: dict[str, Begun] = {}
    names: dict[str, str] = {}
    while len(given) < BRANCHES * LENGTH:
        ready = [n for n, before in waiting.items() if all(each in given for each in before)]
        for node in ready:
            inputs = [str(given[each]) for each in waiting.pop(node)]
            running[node] = begun = durable.start(node, partial(_acted, act, node, inputs))
            names[begun.name] = node
        first = await durable.wait_any(list(running.values()))
        node = names[first.name]
        given[node] = await running.pop(node).result()
    return given


async def _by_branches(durable: Durable, seed: int, act: Act) -> JsonValue:
    wanted = needs(seed)
    given: dict[str, asyncio.Future[JsonValue]] = {
        node: asyncio.get_running_loop().create_future() for node in wanted
    }

    async def branch(number: int) -> None:
        for place in range(LENGTH):
            node = f"{number}.{place}"
            inputs = [str(await given[each]) for each in wanted[node]]
            given[node].set_result(await durable.step(node, partial(_acted, act, node, inputs)))

    await asyncio.gather(*(branch(number) for number in range(BRANCHES)))
    return {node: future.result() for node, future in given.items()}


async def _acted(act: Act, node: str, inputs: Sequence[str], key: str) -> JsonValue:
    return await act(node, key, inputs)
