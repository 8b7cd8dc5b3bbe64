"""What tools answer, and agents that begin with nothing."""

from dataclasses import replace
from typing import Any

from portico.gateway.core.call import Answer
from portico.gateway.keep_result import KeepResult, ReadResult
from portico.guard.core.context import OpenedContext
from portico.kernel.ids import ContextId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind
from tests.storm.bridge_flows import Flows
from tests.storm.walled_house import TOP

HERE = "the place of no conversation"


async def call_tool(flows: Flows, who: Principal) -> None:
    """It is told all that the caller knows, adds a word, and its answer is kept for later."""
    text = flows.knows(who, HERE)
    keep = KeepResult(
        results=flows.house.results,
        clock=flows.house.doors.clock,
        entropy=flows.house.doors.entropy,
        page_size=1,
    )
    label = flows.some_label() or Label.parse("public")
    answer = Answer([{"type": "text", "text": text}])
    _, result = await keep(who, answer, label=label, untrusted=True)
    assert result is not None
    kept = await flows.house.results.get(
        replace(who, clearance=TOP), result, flows.house.doors.clock.now()
    )
    flows.wrote(who, HERE, text, kept.label)
    flows.results.append((who, result))


async def read_result(flows: Flows, who: Principal) -> None:
    """In whichever task of the same principal."""
    own = [result for whose, result in flows.results if whose.id == who.id]
    if result := flows.one(own):
        read = ReadResult(
            results=flows.house.results,
            contexts=flows.house.doors.contexts,
            clock=flows.house.doors.clock,
            page_size=100_000,
        )
        flows.has_read(who, HERE, await read(who, result))


async def run(flows: Flows, who: Principal) -> None:
    """Our own runner begins with an empty list of messages, and so with a clean task."""
    agents = [each for each in flows.who if each.kind is PrincipalKind.AGENT]
    at = flows.house.doors.clock.now()
    opened = OpenedContext(
        id=ContextId.mint(at, flows.house.doors.entropy),
        principal=flows.random.choice(agents).id,
        name="a run",
        opened_at=at,
    )
    its = next(each for each in agents if each.id == opened.principal)
    runner = replace(its, key=None, context=opened.id)
    contexts: Any = flows.house.doors.contexts
    await contexts.open(runner, opened)
    flows.who = [each for each in flows.who if each.context is None] + [runner]
