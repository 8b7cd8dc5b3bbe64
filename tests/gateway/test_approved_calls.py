"""A call that needs somebody's yes: asked, answered, made once, and given to its asker."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from portico.adapters.cross_domain.event_sinks import LoggedApprovalEvents
from portico.engine.core.errors import RunNotOver, StoreUnavailable
from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import ClaimedActivation, QueueConfig, RunStatus, Step
from portico.engine.runs import CancelRun, ForkRun, Kind, Kinds, RunSpec, SignalRun
from portico.gateway.core.calls import ClientCapability, ToolResult
from portico.gateway.core.errors import (
    InvalidArguments,
    UpstreamDown,
    UpstreamRefused,
    UpstreamTimedOut,
)
from portico.gateway.core.pins import set_pin
from portico.guard.approvals import topic_of
from portico.guard.core.approvals import AnswerKind, Approval, Outcome, Resolution, Status
from portico.guard.core.errors import (
    ApprovalNotFound,
    ApprovalOver,
    ApprovalPending,
    ApprovalRejected,
    ApprovalUncertain,
    ApprovedCallFailed,
    NotPermitted,
    Refused,
)
from portico.guard.core.policy import ArgumentWarning, Danger
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.ids import ContextId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.testing.gateway import MemoryResults, a_tool, text
from portico.testing.guard import MemoryKeys, MemoryTaskContexts
from portico.testing.secrets import ClosedVault
from tests.engine.journals import Through
from tests.engine.room import nothing
from tests.gateway.asking_room import ANA, BEN, AskingRoom
from tests.gateway.open_room import DELETE, READ

HOUR = timedelta(hours=1)


class Ear:
    """Of a caller's line, so much."""

    able: frozenset[ClientCapability] = frozenset()

    def __init__(self) -> None:
        self.heard: list[str | None] = []

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.heard.append(message)


@pytest.fixture
def room() -> AskingRoom:
    return AskingRoom()


async def test_what_cannot_be_undone_is_asked_for_and_not_done(room: AskingRoom) -> None:
    await room.call(READ)

    asked = await room.asked(path="/etc/hosts")

    assert room.upstreams.called == [(READ.ref, {"path": "/a"})]
    assert asked.status is Status.WAITING
    assert asked.question.startswith("May bot (agent) use files.delete, which cannot be undone?")
    assert asked.marks == (ArgumentWarning("/path", Danger.PATH),)
    assert [call["tool"] for call in asked.before] == ["files.read"]
    assert asked.tainted
    assert await room.told() == ["approval.asked"]


async def test_the_same_call_again_is_the_same_request(room: AskingRoom) -> None:
    first, again, other = await room.asked(), await room.asked(), await room.asked(path="/b")

    assert first == again
    assert other.id != first.id


async def test_what_was_approved_is_made_once_and_given_once(room: AskingRoom) -> None:
    asked = await room.asked()
    await room.leg(asked)

    await room.answer(asked)
    run = await room.leg(asked)

    assert run.status is RunStatus.DONE
    assert room.upstreams.called == [(DELETE.ref, {"path": "/a"})]
    assert (await room.call()).answer == text("files.delete was called")
    assert (await room.asked()).id != asked.id
    assert len(room.upstreams.called) == 1
    assert await room.told() == [
        "approval.asked",
        "approval.answered",
        "approval.used",
        "approval.asked",
    ]


async def test_a_result_is_kept_for_a_day(room: AskingRoom) -> None:
    asked = await room.approved()
    await room.leg(asked)
    room.clock.turn(timedelta(days=1))

    with pytest.raises(ApprovedCallFailed, match="not kept any longer"):
        await room.approvals.ask_first().by_handle(await room.bot(), asked.id)


async def key_ended(room: AskingRoom, asked: Approval) -> None:
    await MemoryKeys(room.world).revoke(ANA, room.key.id, room.clock.now())


async def tool_changed(room: AskingRoom, asked: Approval) -> None:
    changed = a_tool("files.delete", "Something else.", effect=DELETE.effect)
    [place] = room.world.tools
    room.world.servers[place] = replace(room.world.servers[place], set_pin=set_pin([changed]))
    room.world.tools[place] = [changed]


async def another_server(room: AskingRoom, asked: Approval) -> None:
    """By the same name."""
    [place] = room.world.servers
    moved = replace(room.world.servers[place], launch_pin="another", approved_launch_pin="another")
    room.world.servers[place] = replace(moved, approved_at=room.clock.now())


async def sealed_elsewhere(room: AskingRoom, asked: Approval) -> None:
    place = (asked.space, asked.id)
    room.world.approvals[place] = replace(room.world.approvals[place], sealed=b"something else")


@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        (key_ended, "revoked or expired"),
        (tool_changed, "another call than this one has become"),
        (another_server, "other call"),
        (sealed_elsewhere, "sealed with a key that is not here"),
    ],
)
async def test_what_is_not_what_was_approved_any_more_is_not_called(
    room: AskingRoom,
    meanwhile: Callable[[AskingRoom, Approval], Awaitable[None]],
    why: str,
) -> None:
    asked, bot = await room.approved(), await room.bot()
    await meanwhile(room, asked)

    await room.leg(asked)

    assert room.upstreams.called == []
    assert (await room.seen(asked.id)).outcome is Outcome.FAILED
    with pytest.raises(ApprovedCallFailed, match=why):
        await room.approvals.ask_first().by_handle(bot, asked.id)


async def test_a_no_is_told_with_its_reason_and_not_asked_again_at_once(room: AskingRoom) -> None:
    asked = await room.asked()

    await room.answer(asked, AnswerKind.REJECT, reason="not that file")
    run = await room.leg(asked)

    for _ in range(2):
        with pytest.raises(ApprovalRejected, match="not that file"):
            await room.call()
    assert run.status is RunStatus.DONE
    assert room.upstreams.called == []
    room.clock.turn(timedelta(minutes=10))
    assert (await room.asked()).id != asked.id


async def test_an_edited_one_is_another_request_and_is_made_instead(room: AskingRoom) -> None:
    asked = await room.asked()

    edited = await room.answer(asked, arguments={"path": "/tmp/a"})
    await room.leg(asked)

    assert (await room.seen(asked.id)).status is Status.REPLACED
    assert edited.hash != asked.hash
    assert room.upstreams.called == [(DELETE.ref, {"path": "/tmp/a"})]
    called = await room.call()
    assert called.answer.content[0]["text"] == "files.delete was called"
    assert "by ana with other arguments" in str(called.answer.content[-1]["text"])
    assert (await room.asked(path="/tmp/a")).id != edited.id


async def test_arguments_that_the_tool_would_not_take_are_not_approved(room: AskingRoom) -> None:
    asked = await room.asked()

    with pytest.raises(InvalidArguments):
        await room.answer(asked, arguments={"path": 7})

    assert (await room.seen(asked.id)).status is Status.WAITING


async def test_the_same_arguments_are_no_edit(room: AskingRoom) -> None:
    asked = await room.asked()

    answered = await room.answer(asked, arguments={"path": "/a"})

    assert answered.id == asked.id
    assert answered.status is Status.APPROVED


async def test_a_server_that_was_not_there_did_nothing(room: AskingRoom) -> None:
    asked = await room.approved()
    room.upstreams.replies[DELETE.ref] = UpstreamDown("files", "it did not start")

    await room.leg(asked)

    assert (await room.seen(asked.id)).outcome is Outcome.FAILED
    elsewhere = replace(await room.bot(), key="another key")
    with pytest.raises(ApprovedCallFailed, match="did not start"):
        await room.approvals.ask_first().by_handle(elsewhere, asked.id)
    assert (await room.approvals.contexts.get(elsewhere)).untrusted
    with pytest.raises(ApprovedCallFailed, match="did not start"):
        await room.call()
    assert (await room.asked()).id != asked.id


@pytest.mark.parametrize(
    "reply",
    [
        UpstreamTimedOut("files.delete", 5),
        UpstreamDown("files", "it broke off", reached=True),
        UpstreamRefused("files", -32000, "half of it is gone"),
    ],
    ids=["late", "broken off", "refused"],
)
async def test_a_call_that_may_have_been_made_is_uncertain_and_not_made_again(
    room: AskingRoom, reply: UpstreamTimedOut | UpstreamDown | UpstreamRefused
) -> None:
    asked = await room.approved()
    room.upstreams.replies[DELETE.ref] = reply

    run = await room.leg(asked)

    assert run.status is RunStatus.FAILED
    assert len(room.upstreams.called) == 1
    for _ in range(2):
        with pytest.raises(ApprovalUncertain) as told:
            await room.call()
        assert f"resolve {asked.id}" in str(told.value.fix)


async def test_what_nobody_foresaw_leaves_it_uncertain_too(room: AskingRoom) -> None:
    asked = await room.approved()

    def broken(_arguments: JsonObject) -> ToolResult:
        raise ZeroDivisionError

    room.upstreams.replies[DELETE.ref] = broken
    await room.leg(asked)

    found = await room.seen(asked.id)
    assert (found.outcome, found.error) == (Outcome.UNCERTAIN, "ZeroDivisionError")


async def uncertain(room: AskingRoom) -> Approval:
    """Nobody knows whether it was made."""
    asked = await room.approved()
    room.upstreams.replies[DELETE.ref] = [UpstreamTimedOut("files.delete", 5), text("done now")]
    await room.leg(asked)
    return asked


@pytest.mark.parametrize("how", list(Resolution))
async def test_a_person_says_what_became_of_it(room: AskingRoom, how: Resolution) -> None:
    asked = await uncertain(room)

    await room.use.approvals.resolve_approval(BEN, asked.id, how)

    if how is Resolution.SKIP:
        with pytest.raises(ApprovalOver, match="skipped"):
            await room.approvals.ask_first().by_handle(await room.bot(), asked.id)
        assert (await room.asked()).id != asked.id
        return
    if how is Resolution.RETRY:
        assert (await room.leg(asked)).status is RunStatus.DONE
    told = "done now" if how is Resolution.RETRY else "ben says that this was done"
    assert told in str((await room.call()).answer.content[0]["text"])
    assert len(room.upstreams.called) == (2 if how is Resolution.RETRY else 1)


async def test_when_nobody_answers_in_time_the_same_call_asks_anew(room: AskingRoom) -> None:
    asked = await room.asked()
    run = await room.leg(asked)
    assert run.status is RunStatus.WAITING

    room.clock.turn(HOUR + timedelta(minutes=1))
    room.runs.due(room.clock.now())
    run = await room.leg(asked)

    assert run.status is RunStatus.DONE
    assert (await room.seen(asked.id)).status is Status.EXPIRED
    assert "approval.expired" in await room.told()
    with pytest.raises(ApprovalOver):
        await room.answer(asked)
    with pytest.raises(ApprovalOver, match="expired"):
        await room.approvals.ask_first().by_handle(await room.bot(), asked.id)
    assert (await room.asked()).id != asked.id


async def test_what_was_approved_and_not_made_for_too_long_is_not_made(room: AskingRoom) -> None:
    asked = await room.asked()
    await room.leg(asked)
    await room.answer(asked)
    room.clock.turn(2 * HOUR)

    await room.leg(asked)

    assert room.upstreams.called == []
    assert (await room.seen(asked.id)).status is Status.EXPIRED


async def test_an_edited_one_that_expired_does_not_block_the_call(room: AskingRoom) -> None:
    asked = await room.asked()
    edited = await room.answer(asked, arguments={"path": "/b"})
    room.clock.turn(2 * HOUR)
    await room.leg(asked)

    with pytest.raises(ApprovalOver, match="expired"):
        await room.call()

    assert (await room.asked()).id not in {asked.id, edited.id}


async def test_being_woken_without_an_answer_is_no_answer(room: AskingRoom) -> None:
    asked = await room.asked()
    await room.leg(asked)
    contexts = MemoryTaskContexts(room.world)
    signal = SignalRun(
        book=room.runs, runs=room.runs, queue=room.line, bus=room.bus, contexts=contexts
    )

    await signal(ANA, asked.run, topic_of(asked.id, 1), {"approved": True})
    run = await room.leg(asked)

    assert run.status is RunStatus.WAITING
    assert room.upstreams.called == []
    await room.answer(asked)
    await room.leg(asked)
    assert len(room.upstreams.called) == 1


async def test_what_was_cancelled_cannot_be_approved_but_rejected(room: AskingRoom) -> None:
    asked, other = await room.asked(), await room.asked(path="/b")
    cancel = CancelRun(book=room.runs, runs=room.runs, queue=room.line, bus=room.bus)
    for each in (asked, other):
        await cancel(ANA, each.run)

    with pytest.raises(ApprovalOver, match="cancelled"):
        await room.answer(asked)
    await room.answer(other, AnswerKind.REJECT)

    assert (await room.seen(asked.id)).status is Status.WAITING
    assert (await room.seen(other.id)).status is Status.REJECTED


async def test_a_run_that_was_forked_from_it_uses_nothing(room: AskingRoom) -> None:
    asked = await room.asked()
    await room.leg(asked)
    await room.answer(asked)
    await room.leg(asked)
    fork = ForkRun(
        book=room.runs, runs=room.runs, queue=room.line, clock=room.clock, entropy=room.entropy
    )

    started = await fork(ANA, asked.run, step="call")
    run = await room.leg(replace(asked, run=started.run.id))

    assert run.result == {"status": "not its own"}
    assert len(room.upstreams.called) == 1


async def test_whoever_waits_gets_it_as_soon_as_it_is_made() -> None:
    room = AskingRoom(wait=timedelta(seconds=5))
    ear, bot = Ear(), await room.bot()
    line: Any = ear

    async with room.working():
        calling = asyncio.create_task(
            room.use.call_tool(bot, DELETE.ref, {"path": "/a"}, line=line)
        )
        while not (waiting := await room.use.approvals.list_approvals(ANA, limit=1)):  # noqa: ASYNC110 # seen only so
            await asyncio.sleep(0.005)
        await room.answer(waiting[0])
        called = await calling

    assert called.answer == text("files.delete was called")
    assert ear.heard
    assert ear.heard[0] == f"waiting for somebody to approve files.delete ({waiting[0].id})"


async def test_a_long_answer_is_given_by_its_beginning(room: AskingRoom) -> None:
    asked = await room.approved()
    room.upstreams.replies[DELETE.ref] = text("word " * 10_000)
    await room.leg(asked)

    called = await room.call()

    assert called.stored is not None
    assert called.answer.size < 50_000


async def test_what_was_done_and_could_not_be_kept_is_told_as_done(room: AskingRoom) -> None:
    closed = MemoryResults(room.world, ClosedVault())
    room.kind = replace(room.approvals, results=closed).kind(room.use.call_tool)
    asked = await room.approved()

    await room.leg(asked)

    assert (await room.seen(asked.id)).outcome is Outcome.DONE
    told = str((await room.call()).answer.content[0]["text"])
    assert "This was done; what it answered could not be kept" in told
    assert len(room.upstreams.called) == 1


async def test_people_see_no_secret_and_the_tool_gets_it() -> None:
    def clean(value: object) -> object:
        return {"path": "********"} if value == {"path": "s3cret"} else value

    room = AskingRoom(hide=clean)
    asked = await room.approved(path="s3cret")
    await room.leg(asked)

    assert asked.arguments == {"path": "********"}
    assert b"s3cret" not in room.world.approvals[asked.space, asked.id].sealed
    assert room.upstreams.called == [(DELETE.ref, {"path": "s3cret"})]


@pytest.mark.requirement("guard:approval:holds-nothing")
async def test_two_hundred_that_wait_hold_no_place_in_line_and_others_go_on() -> None:
    room = AskingRoom(queue=QueueConfig(name="runs", a_process=2), max_pending=200)
    other = Kind(name="other", work=nothing)
    async with room.working(other):
        asked = [await room.asked(path=f"/{n}") for n in range(200)]
        async with asyncio.timeout(30):
            for each in asked:
                while (await room.runs.get(ANA, each.run)).status is not RunStatus.WAITING:  # noqa: ASYNC110 # seen only so
                    await asyncio.sleep(0.005)
            while room.line.running:  # noqa: ASYNC110 # the last of them is on its way out
                await asyncio.sleep(0.005)

            start = replace(room.start_run, kinds=Kinds([other]))
            run = await start(ANA, RunSpec(kind="other"))
            while not (await room.runs.get(ANA, run.id)).status.over:  # noqa: ASYNC110 # seen only so
                await asyncio.sleep(0.005)
            await room.answer(asked[150])
            await room.until_ended(asked[150])

    assert [arguments for _, arguments in room.upstreams.called] == [{"path": "/150"}]


async def test_whoever_dies_while_a_call_is_under_way_leaves_it_uncertain(room: AskingRoom) -> None:
    asked = await room.approved()
    room.upstreams.hang("files")
    dying = asyncio.create_task(room.leg(asked))
    while not room.upstreams.called:  # noqa: ASYNC110 # the script has no event for it
        await asyncio.sleep(0)
    dying.cancel()
    await asyncio.wait([dying])
    room.upstreams.release("files")
    assert (await room.seen(asked.id)).outcome is None

    run = await room.leg(asked)

    assert run.status is RunStatus.FAILED
    assert (await room.seen(asked.id)).outcome is Outcome.UNCERTAIN
    assert len(room.upstreams.called) == 1


class DiesBeforeNoting(Through):
    """A journal that never gets to note the step that makes the call."""

    def __init__(self, room: AskingRoom) -> None:
        super().__init__(room)
        self.there = asyncio.Event()

    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        if step.name == "call":
            self.there.set()
            await asyncio.Event().wait()
        return await super().finish(taken, step, told)

    async def dies_in(self, leg: Coroutine[object, object, object]) -> None:
        dying = asyncio.create_task(leg)
        await self.there.wait()
        dying.cancel()
        await asyncio.wait([dying])


async def test_whoever_dies_after_noting_what_came_of_it_loses_nothing(room: AskingRoom) -> None:
    asked = await room.approved()
    journal = DiesBeforeNoting(room)
    await journal.dies_in(room.leg(asked, journal))

    run = await room.leg(asked)

    assert run.status is RunStatus.DONE
    assert (await room.seen(asked.id)).outcome is Outcome.DONE
    assert len(room.upstreams.called) == 1


async def test_somebody_without_a_key_is_taken_as_who_they_are(room: AskingRoom) -> None:
    with pytest.raises(ApprovalPending) as pending:
        await room.use.call_tool(BEN, DELETE.ref, {"path": "/a"})
    asked = await room.seen(pending.value.approval)
    await room.answer(asked)

    await room.leg(asked)

    assert len(room.upstreams.called) == 1
    called = await room.use.call_tool(BEN, DELETE.ref, {"path": "/a"})
    assert called.answer == text("files.delete was called")


async def test_a_read_that_was_given_up_is_not_uncertain() -> None:
    """It needs approval only because the rule says so; asking for it again does no harm."""
    ask = Rule(name="ask", ruling=Ruling.ASK, tools=("files.read",), reads=True)
    room = AskingRoom(rules=[ask])
    with pytest.raises(ApprovalPending) as pending:
        await room.call(READ)
    asked = await room.seen(pending.value.approval)
    await room.answer(asked)
    room.upstreams.replies[READ.ref] = UpstreamTimedOut("files.read", 5)

    await room.leg(asked)

    assert (await room.seen(asked.id)).outcome is Outcome.FAILED


async def test_a_retry_before_its_run_has_noted_its_end_is_refused(room: AskingRoom) -> None:
    asked = await room.asked()

    with pytest.raises(RunNotOver):
        await room.approvals.approval_runs.again(ANA, asked)


async def test_whoever_dies_once_it_is_uncertain_leaves_one_to_try_again(room: AskingRoom) -> None:
    asked = await room.approved()
    room.upstreams.replies[DELETE.ref] = UpstreamTimedOut("files.delete", 5)
    journal = DiesBeforeNoting(room)
    await journal.dies_in(room.leg(asked, journal))

    run = await room.leg(asked)
    resolved = await room.use.approvals.resolve_approval(ANA, asked.id, Resolution.RETRY)

    assert run.status is RunStatus.FAILED
    assert resolved.outcome is None
    assert (await room.runs.get(ANA, asked.run)).status is RunStatus.QUEUED


class AwayOnce(LoggedApprovalEvents):
    """The database goes away just as it is told what became of a call."""

    away: ClassVar[list[str]] = []

    async def publish(self, caller: Principal, what: str, approval: Approval) -> None:
        if what == "used" and not self.away:
            self.away.append(what)
            raise StoreUnavailable("It is away.")
        await super().publish(caller, what, approval)


async def test_what_became_of_a_call_is_noted_however_long_the_database_is_away() -> None:
    AwayOnce.away.clear()
    room = AskingRoom()
    news = AwayOnce(log=room.log, bus=room.bus)
    room.kind = replace(room.approvals, news=news).kind(room.use.call_tool)
    asked = await room.approved()

    run = await room.leg(asked)

    assert AwayOnce.away == ["used"]
    assert run.status is RunStatus.DONE
    assert (await room.seen(asked.id)).outcome is Outcome.DONE
    assert len(room.upstreams.called) == 1


LET_IT = Rule(name="let it", ruling=Ruling.ALLOW, tools=("files.*",), tainted=True)


async def allowed(room: AskingRoom) -> None:
    await room.approvals.rules.add(ANA, LET_IT)


async def test_what_is_allowed_and_done_is_asked_for_no_more(room: AskingRoom) -> None:
    asked = await room.asked()
    await allowed(room)

    await room.call()

    closed = await room.seen(asked.id)
    assert closed.status is Status.WITHDRAWN
    assert await room.told() == ["approval.asked", "approval.withdrawn"]
    with pytest.raises(ApprovalOver, match="withdrawn"):
        await room.answer(asked)
    assert (await room.leg(asked)).status is RunStatus.DONE
    assert len(room.upstreams.called) == 1


async def test_what_was_approved_is_not_done_a_second_time_by_a_rule(room: AskingRoom) -> None:
    asked = await room.approved()
    await allowed(room)

    with pytest.raises(ApprovalPending):
        await room.call()
    await room.leg(asked)
    await room.call()

    assert len(room.upstreams.called) == 1
    await room.call()
    assert len(room.upstreams.called) == 2


async def test_a_yes_for_always_is_collected_and_not_done_again(room: AskingRoom) -> None:
    asked = await room.asked()
    await room.answer(asked, AnswerKind.ALWAYS)
    await room.leg(asked)

    collected = await room.call()

    assert collected.answer.content
    assert len(room.upstreams.called) == 1


async def test_what_nobody_knows_of_is_not_done_again_by_a_rule(room: AskingRoom) -> None:
    await uncertain(room)
    await allowed(room)

    with pytest.raises(ApprovalUncertain):
        await room.call()


async def test_a_yes_that_was_too_late_leaves_the_call_to_the_rule(room: AskingRoom) -> None:
    await room.approved()
    room.clock.turn(2 * HOUR)
    await allowed(room)

    await room.call()

    assert len(room.upstreams.called) == 1


LONG = "x" * 200_000


async def done(room: AskingRoom, said: str = "deleted") -> Approval:
    room.upstreams.replies[DELETE.ref] = text(said)
    asked = await room.approved()
    await room.leg(asked)
    return asked


async def test_the_asker_gets_it_as_often_as_it_asks(room: AskingRoom) -> None:
    asked, bot = await done(room), await room.bot()

    first = await room.use.approvals.read_approved(bot, asked.id)
    again = await room.use.approvals.read_approved(bot, asked.id)

    assert first.answer.content[0]["text"] == "deleted"
    assert again.answer == first.answer


async def test_a_long_one_is_given_its_beginning_and_read_on_page_by_page(room: AskingRoom) -> None:
    asked, bot = await done(room, LONG), await room.bot()

    called = await room.use.approvals.read_approved(bot, asked.id)

    assert called.stored is not None
    assert len(str(called.answer.content)) < len(LONG)
    assert (await room.use.read_result(bot, called.stored, page=2)).page == 2


async def test_nobody_else_gets_it_and_nothing_comes_before_the_answer(room: AskingRoom) -> None:
    asked, bot = await room.asked(), await room.bot()
    by_handle = room.approvals.ask_first().by_handle

    for read in (room.use.approvals.read_approved, by_handle):
        with pytest.raises(ApprovalPending):
            await read(bot, asked.id)
        with pytest.raises(ApprovalNotFound):
            await read(ANA, asked.id)
    assert await room.use.approvals.read_outcome(ANA, await room.seen(asked.id)) is None
    with pytest.raises(NotPermitted):
        await room.use.approvals.read_approved(replace(bot, scopes=frozenset()), asked.id)


async def test_a_key_for_other_tools_or_for_none_does_not_get_it(room: AskingRoom) -> None:
    asked, bot = await done(room), await room.bot()
    ended = await room.seen(asked.id)
    read_outcome, other = room.use.approvals.read_outcome, replace(bot, tools=(("mail.*",),))

    with pytest.raises(Refused, match="default:list"):
        await room.use.approvals.read_approved(other, asked.id)
    assert await read_outcome(other, ended) is None
    assert await read_outcome(replace(bot, scopes=frozenset()), ended) is None
    assert await read_outcome(replace(bot, tools=(("files.*",),)), ended) is not None


async def test_a_no_is_a_no(room: AskingRoom) -> None:
    asked = await room.asked()
    await room.answer(asked, AnswerKind.REJECT)

    with pytest.raises(ApprovalRejected):
        await room.use.approvals.read_approved(await room.bot(), asked.id)


async def test_whichever_task_it_is_read_in_has_read_it(room: AskingRoom) -> None:
    asked, bot = await done(room), await room.bot()
    contexts = MemoryTaskContexts(room.world)
    elsewhere = replace(bot, key="another key")
    before = await contexts.get(elsewhere)

    await room.use.approvals.read_approved(elsewhere, asked.id)

    assert not before.untrusted
    assert (await contexts.get(elsewhere)).untrusted
    assert isinstance(before.id, ContextId)
