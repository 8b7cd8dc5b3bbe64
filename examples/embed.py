"""The gateway inside a program of yours: your functions as tools, found, guarded and called.

No server and no database: everything is in memory, and ends with the program.

python embed.py
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from portico.app.gateway_wiring import assemble_gateway
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import Tool, ToolRef
from portico.guard.core.errors import ApprovalPending
from portico.guard.core.principals import Role
from portico.interfaces.http.use_cases import GatewayUseCases
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.testing.engine import MemoryBus
from portico.testing.gateway import ScriptedUpstreams, a_tool, an_approved_server, seen, text
from portico.testing.gateway_fakes import memory_gateway
from portico.testing.guard import a_person, a_space, an_identity
from portico.testing.memory_store import InMemoryStore, SeededEntropy, TickingClock

ANA = a_person("ana", roles=[Role.MEMBER])


@dataclass
class Shop:
    """What is to be reached through the door."""

    stock: dict[str, int] = field(default_factory=lambda: {"lamp": 3, "chair": 0})

    def look_up(self, given: JsonObject) -> str:
        return f"{self.stock.get(str(given['item']), 0)} left"

    def clear_out(self, given: JsonObject) -> str:
        del self.stock[str(given["item"])]
        return "gone"


def tool(name: str, about: str, effect: Effect) -> Tool:
    properties = {"item": {"type": "string", "description": "What it is called."}}
    schema = {"type": "object", "properties": properties, "required": ["item"]}
    return a_tool(f"shop.{name}", about, effect=effect, inputSchema=schema)


Function = Callable[[JsonObject], str]


def gateway_of(*tools: tuple[Tool, Function]) -> GatewayUseCases:
    """One approved server, `shop`, whose tools are functions of this program."""
    world = InMemoryStore()
    world.spaces[ANA.space] = a_space()
    world.identities.insert((ANA.space, ANA.id), an_identity("ana"))
    server = an_approved_server("shop")
    world.servers[ANA.space, server.id] = server
    world.tools[ANA.space, server.id] = [each for each, _ in tools]
    functions = {each.ref: answering(function) for each, function in tools}
    doors = memory_gateway(
        world,
        ScriptedUpstreams(offers={"shop": seen()}, replies={**functions}),
        bus=MemoryBus(),
        clock=TickingClock(),
        entropy=SeededEntropy(),
    )
    return assemble_gateway(doors).over_http


def answering(function: Function) -> Callable[[JsonObject], ToolResult]:
    return lambda given: text(function(given))


async def main() -> None:
    shop = Shop()
    use = gateway_of(
        (tool("stock", "How many of an item are left.", Effect.LOCAL_READ), shop.look_up),
        (tool("clear", "Takes an item out for good.", Effect.IRREVERSIBLE), shop.clear_out),
    )

    found = await use.find_tools(ANA, ["how many lamps do we still have"])
    print("found:", found.hits[0].ref)

    called = await use.call_tool(ANA, ToolRef("shop", "stock"), {"item": "lamp"})
    print("called:", called.answer.content[0]["text"])

    try:
        await use.call_tool(ANA, ToolRef("shop", "clear"), {"item": "lamp"})
    except ApprovalPending as error:
        print("not done:", error.code)
    print("still there:", "lamp" in shop.stock)


if __name__ == "__main__":
    asyncio.run(main())
