"""A tool has one name in all that is told of it, however a model spells it."""

from portico.agents.core.happening import ToolBegan, ToolEnded
from portico.agents.core.showing import MANY
from portico.testing.agents import (
    ScriptedModels,
    ScriptedTool,
    ScriptedToolbox,
    a_call,
    says,
    wants,
)
from tests.agents.room import Room

TOOLS = [ScriptedTool(name=f"files.read_{number}") for number in range(MANY + 1)]


async def named(room: Room) -> set[tuple[str, ...]]:
    """In its trace, and in what was told of its beginning and of its end."""
    run = await room.start()
    await room.leg(run)
    told = room.told(run)
    return {
        tuple(use.tool for use in (await room.trace(run)).uses),
        tuple(each.tool for each in told if isinstance(each, ToolBegan)),
        tuple(each.tool for each in told if isinstance(each, ToolEnded)),
    }


async def test_one_that_the_agent_may_not_use_is_called_as_others_call_it() -> None:
    toolbox = ScriptedToolbox(*TOOLS)
    toolbox.others = {"files.burn"}
    models = ScriptedModels(wants(a_call("files__burn"), a_call("files__melt", "c2")), says("No."))

    assert await named(Room(models, toolbox)) == {("files.burn", "files__melt")}


async def test_one_that_was_not_shown_is_called_as_others_call_it() -> None:
    last = f"files__read_{MANY}"
    inside = a_call("call_tool", "c2", tool=last, arguments={})
    models = ScriptedModels(wants(a_call(last), inside), says("Found."))

    assert await named(Room(models, ScriptedToolbox(*TOOLS))) == {(f"files.read_{MANY}",) * 2}
