"""The story of a call: found, checked, made, recorded."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.call import Answer, CallOutcome, Verb
from portico.gateway.core.errors import (
    BadArguments,
    ResultNotFound,
    ServerDisabled,
    ServerNotApproved,
    ToolNotFound,
    ToolQuarantined,
    UpstreamDown,
    UpstreamTimedOut,
    WrongVerb,
)
from portico.guard.core.errors import NotPermitted
from portico.kernel.json import JsonObject
from portico.main.assemble_gateway import Limits
from portico.testing.gateway import a_tool
from portico.testing.upstreams import text
from tests.gateway.open_room import ANA, DELETE, READ, VIEWER, WRITE, OpenRoom, ref


async def the_calls(room: OpenRoom) -> list[tuple[str, CallOutcome | None]]:
    return [(str(call.ref), call.outcome) for call in await room.use.list_calls(ANA)]


async def called(room: OpenRoom) -> None:
    async with asyncio.timeout(5):
        while not room.upstreams.called:  # noqa: ASYNC110 # the script has no event for it
            await asyncio.sleep(0)


async def test_a_call_is_made_and_recorded() -> None:
    room = OpenRoom()
    room.upstreams.replies[READ.ref] = text("the text")

    called = await room.use.call_tool(ANA, READ.ref, {"path": "a"}, verb=Verb.READ)

    assert called.answer == text("the text")
    [call] = await room.use.list_calls(ANA)
    assert (call.ref, call.outcome, call.arguments) == (READ.ref, CallOutcome.DONE, {"path": "a"})
    assert call.took is not None
    assert call.bytes_out == len("the text")


async def test_a_tools_own_failure_is_an_answer() -> None:
    room = OpenRoom()
    room.upstreams.replies[READ.ref] = text("no such file", failed=True)

    called = await room.use.call_tool(ANA, READ.ref, {})

    assert called.answer.failed
    assert await the_calls(room) == [("files.read", CallOutcome.FAILED)]


@pytest.mark.parametrize(
    ("tool", "verb", "right"),
    [
        (READ.ref, Verb.DESTRUCTIVE, "call_read"),
        (WRITE.ref, Verb.READ, "call_write"),
        (DELETE.ref, Verb.WRITE, "call_destructive"),
    ],
)
async def test_the_wrong_door_is_refused_and_names_the_right_one(
    tool: object, verb: Verb, right: str
) -> None:
    room = OpenRoom()

    with pytest.raises(WrongVerb, match=right):
        await room.use.call_tool(ANA, ref(str(tool)), {}, verb=verb)

    assert room.upstreams.called == []


async def test_arguments_that_do_not_fit_are_refused_before_the_server_sees_them() -> None:
    room = OpenRoom()

    with pytest.raises(BadArguments, match="path"):
        await room.use.call_tool(ANA, READ.ref, {"path": 3})

    assert room.upstreams.called == []


async def test_a_tool_that_is_not_there_names_what_is_near() -> None:
    with pytest.raises(ToolNotFound, match=r"files\.read"):
        await OpenRoom().use.call_tool(ANA, ref("files.reed"), {})


async def test_the_same_tool_of_another_server_is_near() -> None:
    with pytest.raises(ToolNotFound, match=r"files\.read"):
        await OpenRoom().use.call_tool(ANA, ref("nowhere.read"), {})


async def test_a_quarantined_tool_is_not_called() -> None:
    room = OpenRoom()
    room.replace(replace(a_tool("files.read", "Other."), accepted_pin=READ.pin))

    with pytest.raises(ToolQuarantined):
        await room.use.call_tool(ANA, READ.ref, {})


async def test_a_tool_of_a_server_that_nobody_approved_is_not_called() -> None:
    with pytest.raises(ServerNotApproved):
        await OpenRoom().use.call_tool(ANA, ref("tracker.create_ticket"), {})


async def test_a_tool_of_a_server_that_is_off_is_not_called() -> None:
    room = OpenRoom()
    await room.use.switch_server(ANA, "files", enabled=False)

    with pytest.raises(ServerDisabled):
        await room.use.call_tool(ANA, READ.ref, {})


async def test_calling_needs_its_scope() -> None:
    with pytest.raises(NotPermitted):
        await OpenRoom().use.call_tool(VIEWER, READ.ref, {})


async def test_a_read_is_tried_again_when_its_server_broke_off() -> None:
    room = OpenRoom()
    room.upstreams.replies[READ.ref] = [UpstreamDown("files", "it ended"), text("there")]

    called = await room.use.call_tool(ANA, READ.ref, {})

    assert called.answer == text("there")
    assert len(room.upstreams.called) == 2


async def test_a_read_is_not_tried_for_ever() -> None:
    room = OpenRoom()
    room.upstreams.replies[READ.ref] = UpstreamDown("files", "it ended")

    with pytest.raises(UpstreamDown):
        await room.use.call_tool(ANA, READ.ref, {})

    assert len(room.upstreams.called) == 3
    assert await the_calls(room) == [("files.read", CallOutcome.BROKEN)]


async def test_a_write_that_may_have_been_done_is_not_tried_again_and_is_uncertain() -> None:
    room = OpenRoom()
    broke_off = UpstreamDown("files", "it ended", reached=True)
    room.upstreams.replies[WRITE.ref] = [broke_off, text("twice")]

    with pytest.raises(UpstreamDown):
        await room.use.call_tool(ANA, WRITE.ref, {})

    assert len(room.upstreams.called) == 1
    assert await the_calls(room) == [("files.write", CallOutcome.UNCERTAIN)]


async def test_a_write_that_never_got_there_is_tried_again() -> None:
    room = OpenRoom()
    unreached = UpstreamDown("files", "no such session", reached=False)
    room.upstreams.replies[WRITE.ref] = [unreached, text("once")]

    called = await room.use.call_tool(ANA, WRITE.ref, {})

    assert called.answer == text("once")


async def test_a_server_that_is_switched_off_in_the_middle_is_not_called_again() -> None:
    room = OpenRoom()

    def ended(_arguments: JsonObject) -> Answer:
        for place, server in room.world.servers.items():
            if server.name == "files":
                room.world.servers[place] = replace(server, enabled=False)
        raise UpstreamDown("files", "it was stopped", reached=True)

    room.upstreams.replies[READ.ref] = ended

    with pytest.raises(ServerDisabled):
        await room.use.call_tool(ANA, READ.ref, {})

    assert len(room.upstreams.called) == 1


async def test_a_write_is_on_record_before_it_is_made() -> None:
    room = OpenRoom()
    room.upstreams.hang("files")
    room.upstreams.replies[WRITE.ref] = text("written")

    async with asyncio.TaskGroup() as group:
        group.create_task(room.use.call_tool(ANA, WRITE.ref, {}))
        await called(room)
        under_way = await the_calls(room)
        room.upstreams.release("files")

    assert under_way == [("files.write", None)]
    assert await the_calls(room) == [("files.write", CallOutcome.DONE)]


async def test_a_server_that_hangs_is_given_up() -> None:
    room = OpenRoom(Limits(call_timeout=timedelta(milliseconds=10)))
    room.upstreams.hang("files")

    with pytest.raises(UpstreamTimedOut):
        await room.use.call_tool(ANA, READ.ref, {})

    assert await the_calls(room) == [("files.read", CallOutcome.TIMED_OUT)]


async def test_a_call_that_is_cancelled_is_recorded_as_that() -> None:
    room = OpenRoom()
    room.upstreams.hang("files")
    task = asyncio.ensure_future(room.use.call_tool(ANA, WRITE.ref, {}))
    await called(room)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await the_calls(room) == [("files.write", CallOutcome.CANCELLED)]


async def test_a_long_answer_stays_here_and_is_read_page_by_page() -> None:
    room = OpenRoom()
    whole = "\n".join(f"line {number}" for number in range(100))
    room.upstreams.replies[READ.ref] = Answer(text(whole).content, structured={"lines": 100})

    called = await room.use.call_tool(ANA, READ.ref, {})

    assert called.kept is not None
    shown = [str(block.get("text")) for block in called.answer.content]
    assert shown[0].startswith("line 0")
    assert f'read_result(result="{called.kept}", page=2)' in shown[1]
    first = await room.use.read_result(ANA, called.kept)
    pages = [await room.use.read_result(ANA, called.kept, page=n + 1) for n in range(first.pages)]
    assert "".join(page.text for page in pages) == whole
    beyond = await room.use.read_result(ANA, called.kept, page=99)
    assert beyond.page == first.pages


async def test_a_result_is_nobody_elses() -> None:
    room = OpenRoom()
    room.upstreams.replies[READ.ref] = text("x " * 500)
    called = await room.use.call_tool(ANA, READ.ref, {})
    assert called.kept is not None

    with pytest.raises(ResultNotFound):
        await room.use.read_result(VIEWER, called.kept)


async def test_who_asks_for_the_whole_gets_it() -> None:
    room = OpenRoom()
    room.upstreams.replies[READ.ref] = text("x " * 500)

    called = await room.use.call_tool(ANA, READ.ref, {}, whole=True)

    assert called.kept is None
    assert called.answer == text("x " * 500)
