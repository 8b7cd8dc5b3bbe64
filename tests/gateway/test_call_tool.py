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
from portico.guard.core.errors import ApprovalPending, NotPermitted, Refused
from portico.guard.core.ticket import Ticket
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level
from portico.main.assemble_gateway import Limits, assemble_gateway
from portico.testing.contexts import MemoryTaskContexts
from portico.testing.gateway import MemoryResults, a_tool
from portico.testing.gateway_doors import ANYTHING
from portico.testing.guard_policy import MemoryRules
from portico.testing.kernel import BEGINNING, SeededEntropy
from portico.testing.upstreams import text
from portico.testing.vault import ClosedVault
from portico.testing.world import KnownContext
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
    async with asyncio.timeout(5):
        while not room.upstreams.called:  # noqa: ASYNC110 # the script has no event for it
            await asyncio.sleep(0)


@pytest.fixture
def room() -> OpenRoom:
    return OpenRoom()


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


async def test_of_a_server_that_nobody_let_in_it_says_what_stands_in_the_way() -> None:
    with pytest.raises(ToolNotFound, match="tracker waits for approval") as refused:
        await OpenRoom().use.call_tool(ANA, ref("tracker.never_listed"), {})

    assert refused.value.fix == "portico servers approve tracker"


async def test_a_quarantined_tool_is_not_called(room: OpenRoom) -> None:
    room.replace(replace(a_tool("files.read", "Other."), accepted_pin=READ.pin))

    with pytest.raises(ToolQuarantined):
        await room.use.call_tool(ANA, READ.ref, {})


async def test_a_tool_of_a_server_that_nobody_approved_is_not_called() -> None:
    with pytest.raises(ServerNotApproved):
        await OpenRoom().use.call_tool(ANA, ref("tracker.create_ticket"), {})


async def test_a_tool_of_a_server_that_is_off_is_not_called(room: OpenRoom) -> None:
    await room.use.switch_server(ANA, "files", enabled=False)

    with pytest.raises(ServerDisabled):
        await room.use.call_tool(ANA, READ.ref, {})


async def test_calling_needs_its_scope() -> None:
    nobody = replace(VIEWER, scopes=frozenset())

    with pytest.raises(NotPermitted):
        await OpenRoom().use.call_tool(nobody, READ.ref, {})


async def test_whoever_may_only_read_changes_nothing(room: OpenRoom) -> None:
    assert (await room.use.call_tool(VIEWER, READ.ref, {})).answer is not None
    with pytest.raises(Refused, match="tools:write"):
        await room.use.call_tool(VIEWER, WRITE.ref, {})

    assert [ref for ref, _ in room.upstreams.called] == [READ.ref]


async def test_what_needs_approval_is_asked_for_and_not_made() -> None:
    room = OpenRoom(rules=MemoryRules())

    with pytest.raises(ApprovalPending):
        await room.use.call_tool(ANA, DELETE.ref, {"path": "a"})

    [(act, decision)] = room.asking.asked
    assert (act.aim.tool, act.arguments) == ("files.delete", {"path": "a"})
    assert decision.rule == "default:destroys"
    assert room.upstreams.called == []


async def ticket_for(room: OpenRoom, arguments: JsonObject) -> Ticket:
    with pytest.raises(ApprovalPending):
        await room.use.call_tool(ANA, DELETE.ref, arguments)
    act, _ = room.asking.asked[-1]
    approval = ApprovalId.mint(BEGINNING, SeededEntropy("yes"))
    return Ticket(approval=approval, hash=act.hash, by="olga")


async def test_a_ticket_is_good_for_exactly_what_was_approved() -> None:
    room = OpenRoom(rules=MemoryRules())
    ticket = await ticket_for(room, {"path": "a"})

    with pytest.raises(Refused, match="another call"):
        await room.use.call_tool(ANA, DELETE.ref, {"path": "b"}, ticket=ticket)
    await room.use.call_tool(ANA, DELETE.ref, {"path": "a"}, ticket=ticket)

    assert room.upstreams.called == [(DELETE.ref, {"path": "a"})]


async def test_the_task_takes_in_what_a_server_says_before_it_is_asked(room: OpenRoom) -> None:
    room.label("files", Label(Level.TEAM))
    seen: list[KnownContext] = []

    def reply(_arguments: JsonObject) -> Answer:
        seen.extend(room.world.contexts.values())
        return text("no", failed=True)

    room.upstreams.replies[READ.ref] = reply

    await room.use.call_tool(ANA, READ.ref, {})

    assert [(task.label, task.untrusted) for task in seen] == [(Label(Level.TEAM), True)]


async def test_nothing_is_taken_in_from_a_server_whose_word_is_trusted(room: OpenRoom) -> None:
    room.label("files", trusted=True)

    await room.use.call_tool(ANA, READ.ref, {})

    assert [*room.world.contexts.values()] == []


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

    def worse(_arguments: JsonObject) -> Answer:
        room.replace(replace(READ, effect=Effect.IRREVERSIBLE), WRITE, DELETE)
        raise broken

    room.upstreams.replies[READ.ref] = [worse, text("never told")]

    with pytest.raises(ToolQuarantined):
        await room.use.call_tool(ANA, READ.ref, {})

    assert len(room.upstreams.called) == 1


async def test_a_read_is_tried_again_when_its_server_broke_off(room: OpenRoom) -> None:
    room.upstreams.replies[READ.ref] = [UpstreamDown("files", "it ended"), text("there")]

    called = await room.use.call_tool(ANA, READ.ref, {})

    assert called.answer == text("there")
    assert len(room.upstreams.called) == 2


async def test_a_read_is_not_tried_for_ever(room: OpenRoom) -> None:
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


async def test_a_write_that_never_got_there_is_tried_again(room: OpenRoom) -> None:
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


async def test_where_nothing_can_be_sealed_a_long_answer_is_only_its_beginning() -> None:
    room = OpenRoom()
    closed = MemoryResults(room.world, ClosedVault())
    use = assemble_gateway(replace(room.doors, results=closed)).over_http
    room.upstreams.replies[READ.ref] = text("word " * 500)

    called = await use.call_tool(ANA, READ.ref, {})
    whole = await use.call_tool(ANA, READ.ref, {}, whole=True)

    shown = [str(block.get("text")) for block in called.answer.content]
    assert called.kept is None
    assert shown[0].startswith("word word")
    assert "The rest is not kept" in shown[1]
    assert "read_result" not in shown[1]
    assert whole.answer == text("word " * 500)
    assert not room.world.results


async def test_a_result_is_nobody_elses(room: OpenRoom) -> None:
    room.upstreams.replies[READ.ref] = text("x " * 500)
    called = await room.use.call_tool(ANA, READ.ref, {})
    assert called.kept is not None

    with pytest.raises(ResultNotFound):
        await room.use.read_result(VIEWER, called.kept)


async def test_who_asks_for_the_whole_gets_it(room: OpenRoom) -> None:
    room.upstreams.replies[READ.ref] = text("x " * 500)

    called = await room.use.call_tool(ANA, READ.ref, {}, whole=True)

    assert called.kept is None
    assert called.answer == text("x " * 500)
