"""The story of a call: found, checked, made, recorded."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.app.gateway_wiring import Limits, assemble_gateway
from portico.gateway.core.calls import CallOutcome, ToolResult, Verb
from portico.gateway.core.catalog_snapshot import Tool
from portico.gateway.core.errors import (
    InvalidArguments,
    ResultNotFound,
    ServerDisabled,
    ServerNotApproved,
    ToolNotFound,
    ToolQuarantined,
    UpstreamDown,
    UpstreamTimedOut,
    WrongVerb,
)
from portico.guard.core.approvals import ApprovalGrant
from portico.guard.core.errors import ApprovalPending, NotPermitted, Refused
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.gateway import MemoryResults, a_tool, text
from portico.testing.gateway_fakes import ANYTHING
from portico.testing.guard import MemoryRules, MemoryTaskContexts
from portico.testing.memory_store import BEGINNING, KnownContext, SeededEntropy
from portico.testing.secrets import ClosedVault
from tests.gateway.open_room import (
    ANA,
    DELETE,
    READ,
    SECRETARY,
    VIEWER,
    WEATHER,
    WRITE,
    OpenRoom,
    ref,
)


async def the_calls(room: OpenRoom) -> list[tuple[str, CallOutcome | None]]:
    return [(str(call.ref), call.outcome) for call in await room.use.list_calls(ANA)]


async def called(room: OpenRoom) -> None:
    async with asyncio.timeout(30):
        while not room.upstreams.called:  # noqa: ASYNC110 # the script has no event for it
            await asyncio.sleep(0)


async def test_a_call_is_made_and_recorded(room: OpenRoom) -> None:
    room.upstreams.replies[READ.ref] = text("the text")

    called = await room.use.call_tool(ANA, READ.ref, {"path": "a"}, verb=Verb.READ)

    assert called.answer == text("the text")
    [call] = await room.use.list_calls(ANA)
    assert (call.ref, call.outcome, call.arguments) == (READ.ref, CallOutcome.DONE, {"path": "a"})
    assert call.took is not None
    assert call.bytes_out == len("the text")


async def test_a_tools_own_failure_is_an_answer(room: OpenRoom) -> None:
    room.upstreams.replies[READ.ref] = text("no such file", failed=True)

    called = await room.use.call_tool(ANA, READ.ref, {})

    assert called.answer.failed
    assert await the_calls(room) == [("files.read", CallOutcome.FAILED)]


@pytest.mark.parametrize(
    ("tool", "given", "error", "told"),
    [
        ("files.read", {"path": 3}, InvalidArguments, "path"),
        ("files.reed", {}, ToolNotFound, r"files\.read"),
        ("nowhere.read", {}, ToolNotFound, r"files\.read"),
        ("tracker.never_listed", {}, ToolNotFound, "tracker waits for approval"),
        ("tracker.create_ticket", {}, ServerNotApproved, "tracker"),
        ("files.write", {}, ToolQuarantined, r"files\.write"),
        ("sky.forecast", {}, ServerDisabled, "sky"),
    ],
)
async def test_what_cannot_be_called_is_refused_before_its_server_sees_it(
    room: OpenRoom, tool: str, given: JsonObject, error: type[PorticoError], told: str
) -> None:
    room.replace(READ, replace(a_tool("files.write", "Other."), accepted_pin=WRITE.pin))
    await room.use.switch_server(ANA, "sky", enabled=False)

    with pytest.raises(error, match=told) as refused:
        await room.use.call_tool(ANA, ref(tool), given)

    assert room.upstreams.called == []
    if tool == "tracker.never_listed":
        assert refused.value.fix == "portico servers approve tracker"


@pytest.mark.parametrize(
    ("tool", "verb", "right"),
    [
        (READ, Verb.DESTRUCTIVE, "call_read"),
        (WRITE, Verb.READ, "call_write"),
        (DELETE, Verb.WRITE, "call_destructive"),
    ],
)
async def test_the_wrong_door_is_refused_and_names_the_right_one(
    room: OpenRoom, tool: Tool, verb: Verb, right: str
) -> None:
    with pytest.raises(WrongVerb, match=right):
        await room.use.call_tool(ANA, tool.ref, {}, verb=verb)

    assert room.upstreams.called == []


async def test_whoever_may_only_read_changes_nothing(room: OpenRoom) -> None:
    assert (await room.use.call_tool(VIEWER, READ.ref, {})).answer is not None
    with pytest.raises(Refused, match="tools:write"):
        await room.use.call_tool(VIEWER, WRITE.ref, {})
    with pytest.raises(NotPermitted):
        await room.use.call_tool(replace(VIEWER, scopes=frozenset()), READ.ref, {})

    assert [ref for ref, _ in room.upstreams.called] == [READ.ref]


async def test_a_ticket_is_good_for_exactly_what_was_approved() -> None:
    room = OpenRoom(rules=MemoryRules())
    with pytest.raises(ApprovalPending):
        await room.use.call_tool(ANA, DELETE.ref, {"path": "a"})
    [(act, decision)] = room.asking.asked
    assert (act.target.tool, act.arguments) == ("files.delete", {"path": "a"})
    assert decision.rule == "default:destroys"
    assert room.upstreams.called == []
    approval = ApprovalId.mint(BEGINNING, SeededEntropy("yes"))
    ticket = ApprovalGrant(approval=approval, hash=act.hash, by="olga")

    with pytest.raises(Refused, match="another call"):
        await room.use.call_tool(ANA, DELETE.ref, {"path": "b"}, ticket=ticket)
    await room.use.call_tool(ANA, DELETE.ref, {"path": "a"}, ticket=ticket)

    assert room.upstreams.called == [(DELETE.ref, {"path": "a"})]


@pytest.mark.parametrize("trusted", [False, True])
async def test_the_task_takes_in_what_a_server_says_before_it_is_asked(
    room: OpenRoom, *, trusted: bool
) -> None:
    """But for one whose word is trusted, and that is as secret as everything."""
    label = PUBLIC if trusted else Label(Level.TEAM)
    room.label("files", label, trusted=trusted)
    seen: list[KnownContext] = []

    def reply(_arguments: JsonObject) -> ToolResult:
        seen.extend(room.world.contexts.values())
        return text("no", failed=True)

    room.upstreams.replies[READ.ref] = reply

    await room.use.call_tool(ANA, READ.ref, {})

    taken = [(task.label, task.untrusted) for task in seen]
    assert taken == ([] if trusted else [(label, True)])


async def test_a_call_is_as_secret_as_its_server_and_as_what_its_task_had_read() -> None:
    room = OpenRoom(rules=MemoryRules([ANYTHING]))
    room.label("files", Label(Level.CONFIDENTIAL))
    await room.use.call_tool(SECRETARY, READ.ref, {"path": "payroll"})

    await room.use.call_tool(SECRETARY, WEATHER.ref, {"path": "what I have read"})

    labels = {str(it.ref): it.label.level for it in await room.use.list_calls(SECRETARY)}
    assert labels == {"files.read": Level.CONFIDENTIAL, "sky.forecast": Level.CONFIDENTIAL}
    assert await room.use.list_calls(ANA) == []


async def test_whoever_looks_at_calls_has_read_what_they_were_made_with() -> None:
    room = OpenRoom(rules=MemoryRules([ANYTHING]))
    room.label("files", Label(Level.CONFIDENTIAL), trusted=True)
    await room.use.call_tool(SECRETARY, READ.ref, {"path": "payroll"})
    reader, contexts = replace(SECRETARY, key="another"), MemoryTaskContexts(room.world)
    before = await contexts.get(reader)

    await room.use.list_calls(reader)

    after = await contexts.get(reader)
    assert (before.label, before.untrusted) == (PUBLIC, False)
    assert (after.label, after.untrusted) == (Label(Level.CONFIDENTIAL), True)


async def test_what_an_operator_has_said_meanwhile_counts(room: OpenRoom) -> None:
    broken = UpstreamDown("files", "it ended")

    def worse(_arguments: JsonObject) -> ToolResult:
        room.replace(replace(READ, effect=Effect.IRREVERSIBLE), WRITE, DELETE)
        raise broken

    room.upstreams.replies[READ.ref] = [worse, text("never told")]

    with pytest.raises(ToolQuarantined):
        await room.use.call_tool(ANA, READ.ref, {})

    assert len(room.upstreams.called) == 1


async def test_a_read_is_tried_again_if_its_server_broke_off_not_for_ever(room: OpenRoom) -> None:
    broke_off = UpstreamDown("files", "it ended")
    room.upstreams.replies[READ.ref] = [broke_off, text("there")]
    called = await room.use.call_tool(ANA, READ.ref, {})
    assert (called.answer, len(room.upstreams.called)) == (text("there"), 2)

    room.upstreams.replies[READ.ref] = broke_off
    with pytest.raises(UpstreamDown):
        await room.use.call_tool(ANA, READ.ref, {})

    assert len(room.upstreams.called) == 2 + 3
    assert (await the_calls(room))[0] == ("files.read", CallOutcome.BROKEN)


async def test_a_write_is_tried_again_only_if_it_never_got_there(room: OpenRoom) -> None:
    for reached, calls in ((True, 1), (False, 2)):
        room.upstreams.called.clear()
        broke_off = UpstreamDown("files", "it ended", reached=reached)
        room.upstreams.replies[WRITE.ref] = [broke_off, text("once")]

        with suppress(UpstreamDown):
            await room.use.call_tool(ANA, WRITE.ref, {})

        assert len(room.upstreams.called) == calls

    made, lost = CallOutcome.DONE, CallOutcome.UNCERTAIN
    assert await the_calls(room) == [("files.write", made), ("files.write", lost)]


async def test_a_server_that_is_switched_off_meanwhile_is_not_called_again(room: OpenRoom) -> None:
    def ended(_arguments: JsonObject) -> ToolResult:
        place, server = room._server("files")
        room.world.servers[place] = replace(server, enabled=False)
        raise UpstreamDown("files", "it was stopped", reached=True)

    room.upstreams.replies[READ.ref] = ended

    with pytest.raises(ServerDisabled):
        await room.use.call_tool(ANA, READ.ref, {})

    assert len(room.upstreams.called) == 1


async def test_a_write_is_on_record_before_it_is_made(room: OpenRoom) -> None:
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


async def test_a_call_that_is_cancelled_is_recorded_as_that(room: OpenRoom) -> None:
    room.upstreams.hang("files")
    task = asyncio.ensure_future(room.use.call_tool(ANA, WRITE.ref, {}))
    await called(room)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await the_calls(room) == [("files.write", CallOutcome.CANCELLED)]


async def test_a_long_answer_stays_here_and_is_read_page_by_page(room: OpenRoom) -> None:
    whole = "\n".join(f"line {number}" for number in range(100))
    room.upstreams.replies[READ.ref] = ToolResult(text(whole).content, structured={"lines": 100})

    called = await room.use.call_tool(ANA, READ.ref, {})

    assert called.stored is not None
    shown = [str(block.get("text")) for block in called.answer.content]
    assert shown[0].startswith("line 0")
    assert f'read_result(result="{called.stored}", page=2)' in shown[1]
    first = await room.use.read_result(ANA, called.stored)
    pages = [await room.use.read_result(ANA, called.stored, page=n + 1) for n in range(first.pages)]
    assert "".join(page.text for page in pages) == whole
    beyond = await room.use.read_result(ANA, called.stored, page=99)
    assert beyond.page == first.pages


async def test_where_nothing_can_be_sealed_a_long_answer_is_only_its_beginning() -> None:
    room = OpenRoom()
    closed = MemoryResults(room.world, ClosedVault())
    use = assemble_gateway(replace(room.doors, results=closed)).over_http
    room.upstreams.replies[READ.ref] = text("word " * 500)

    called = await use.call_tool(ANA, READ.ref, {})
    whole = await use.call_tool(ANA, READ.ref, {}, whole=True)

    shown = [str(block.get("text")) for block in called.answer.content]
    assert called.stored is None
    assert shown[0].startswith("word word")
    assert "The rest is not kept" in shown[1]
    assert "read_result" not in shown[1]
    assert whole.answer == text("word " * 500)
    assert not room.world.results


async def test_a_result_is_nobody_elses_and_whole_for_whoever_asks_for_that(room: OpenRoom) -> None:
    room.upstreams.replies[READ.ref] = text("x " * 500)
    called = await room.use.call_tool(ANA, READ.ref, {})
    whole = await room.use.call_tool(ANA, READ.ref, {}, whole=True)

    assert called.stored is not None
    assert (whole.stored, whole.answer) == (None, text("x " * 500))
    with pytest.raises(ResultNotFound):
        await room.use.read_result(VIEWER, called.stored)
