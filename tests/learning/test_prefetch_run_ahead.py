"""What is made ahead of time is decided about anew, for whoever it is for, as they are then."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.servers import TEAM
from portico.guard.core.access_request import AccessRequest
from portico.guard.core.errors import LimitReached
from portico.guard.core.keys import Purpose, StoredKey
from portico.guard.core.rate_limits import CallRates
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.observed_calls import Origin, ReadRequest, Source
from portico.learning.core.prefetch_gates import GATES, PrefetchLimits, ServerSwitch, SpaceSwitches
from portico.testing.gateway import a_tool, text
from portico.testing.gateway_fakes import ANYTHING
from portico.testing.guard import MemoryCallLimits, MemoryRules
from portico.testing.memory_store import BEGINNING, HeldKey, KnownContext, SeededEntropy
from tests.gateway.open_room import ANA, DELETE, READ, WEATHER, WRITE
from tests.learning.prefetch.ahead_room import LIST, AheadRoom


def meanwhile(room: AheadRoom, happens: Callable[[], Awaitable[object]]) -> None:
    """While a limit is used for it, which is a trip to the database."""

    class Slow(MemoryCallLimits):
        async def take_ahead(self, act: AccessRequest, share: float) -> None:
            await happens()

    limits = Slow(CallRates())
    room.run_ahead = replace(room.run_ahead, guard=replace(room.run_ahead.guard, limits=limits))


def a_key(room: AheadRoom) -> Principal:
    """Ana, with a key of hers."""
    key = StoredKey(
        id="k1",
        space=ANA.space,
        principal=ANA.id,
        purpose=Purpose.ACCESS,
        name="laptop",
        scopes=None,
        clearance=TEAM,
        created_at=BEGINNING,
    )
    room.world.keys["k1"] = HeldKey(key, b"")
    return replace(ANA, key="k1")


async def begun(room: AheadRoom, *wanted: ReadRequest, caller: Principal = ANA) -> list[str]:
    """In the end, what was called."""
    async with room.running():
        await room.ahead(*wanted, caller=caller)
    return [str(ref) for ref, _ in room.upstreams.called]


@pytest.fixture
def room() -> AheadRoom:
    return AheadRoom()


async def test_it_is_made_for_whoever_holds_a_key_that_opens(room: AheadRoom) -> None:
    assert await begun(room, room.wanted(), caller=a_key(room)) == ["files.read"]


def revoke(room: AheadRoom) -> None:
    held = room.world.keys["k1"]
    room.world.keys["k1"] = replace(held, key=replace(held.key, revoked_at=BEGINNING))


def with_revoked_key(room: AheadRoom) -> Principal:
    caller = a_key(room)
    revoke(room)
    return caller


def in_closed_task(room: AheadRoom) -> Principal:
    task = ContextId.mint(BEGINNING, SeededEntropy("task"))
    known = KnownContext(ANA.id, "a task", BEGINNING)
    room.world.contexts[ANA.space, task] = replace(known, closed_at=BEGINNING)
    return replace(ANA, context=task)


@pytest.mark.parametrize(
    ("caller_in", "gate"),
    [
        (with_revoked_key, "in_good_standing"),
        (lambda _: replace(ANA, until=BEGINNING), "in_good_standing"),
        (in_closed_task, "context_not_found"),
        (lambda _: replace(ANA, tools=(("sky.*",),)), "allowed"),
    ],
    ids=["key was revoked", "token has ended", "task is closed", "on none of its lists"],
)
async def test_nothing_is_called_for_whoever_could_not_call_it_by_now(
    room: AheadRoom, caller_in: Callable[[AheadRoom], Principal], gate: str
) -> None:
    assert await begun(room, room.wanted(), caller=caller_in(room)) == []
    assert room.closed == [("files.read", gate)]


def raised(room: AheadRoom) -> ReadRequest:
    """An operator has said meanwhile that it changes something."""
    room.replace(replace(READ, effect=Effect.IRREVERSIBLE), WRITE, DELETE, LIST)
    return room.wanted()


def never_waited_for(room: AheadRoom) -> ReadRequest:
    other = a_tool("files.stat", "Tells the size of a file.", effect=Effect.LOCAL_READ)
    room.replace(READ, WRITE, DELETE, LIST, other)
    return room.wanted(other)


@pytest.mark.parametrize(
    ("wanted_in", "gate"),
    [
        (lambda room: room.wanted(WRITE), "only_reads"),
        (lambda room: room.wanted(DELETE), "only_reads"),
        (raised, "only_reads"),
        (lambda room: replace(room.wanted(), arguments={"path": 3}), "fits_its_schema"),
        (lambda room: replace(room.wanted(), sources={}), "complete"),
        (never_waited_for, "worth_it"),
    ],
    ids=["a write", "for good", "by now a write", "unfit", "made up", "not known to be slow"],
)
async def test_what_a_gate_keeps_out_is_not_called(
    wanted_in: Callable[[AheadRoom], ReadRequest], gate: str
) -> None:
    room = AheadRoom(rules=MemoryRules([ANYTHING]))
    wanted = wanted_in(room)

    assert await begun(room, wanted) == []
    assert room.closed == [(str(wanted.ref), gate)]


async def test_whose_clearance_was_lowered_is_not_called_for_above_it(room: AheadRoom) -> None:
    caller = a_key(room)
    room.label("files", TEAM)
    assert await begun(room, room.wanted(), caller=caller) == ["files.read"]
    held = room.world.keys["k1"]
    room.world.keys["k1"] = replace(held, key=replace(held.key, clearance=Label(Level.PUBLIC)))
    room.upstreams.called.clear()

    assert await begun(room, room.wanted(path="b"), caller=caller) == []
    assert room.closed == [("files.read", "tool_not_found")]


@pytest.mark.parametrize("ruling", [Ruling.DENY, Ruling.ASK])
async def test_what_a_rule_denies_or_asks_about_is_not_called_nor_asked_for(ruling: Ruling) -> None:
    rule = Rule(name="r", ruling=ruling, tools=("files.*",), reads=True, source=RuleSource.FILE)
    room = AheadRoom(rules=MemoryRules([rule]))

    assert await begun(room, room.wanted()) == []
    assert room.closed == [("files.read", "allowed")]
    assert room.asking.asked == []


async def test_a_server_that_sleeps_is_not_woken(room: AheadRoom) -> None:
    await room.run_ahead.these(ANA, [room.wanted()])

    assert room.closed == [("files.read", "awake")]


async def test_what_leaves_the_machine_is_called_only_where_an_operator_has_said_so() -> None:
    room = AheadRoom(rules=MemoryRules([ANYTHING]))
    room.slow(WEATHER)
    wanted = room.wanted(WEATHER)
    assert await begun(room, wanted) == []
    _, sky = room._server("sky")
    await room.switch(SpaceSwitches(servers={sky.id: ServerSwitch(external=True)}))

    assert await begun(room, wanted) == ["sky.forecast"]
    assert room.closed == [("sky.forecast", "stays_here")]


async def test_what_a_stranger_said_or_somebody_keeps_secret_does_not_leave_the_machine() -> None:
    room = AheadRoom(PrefetchLimits(external=frozenset({"sky"})), rules=MemoryRules([ANYTHING]))
    room.slow(WEATHER)
    theirs = {"path": {Source(Origin.RESULT, room.place(READ))}}
    wanted = room.wanted(WEATHER)

    assert await begun(room, replace(wanted, sources=theirs)) == []
    await room.doors.contexts.raise_taint(ANA, TEAM, untrusted=False)
    assert await begun(room, wanted) == []
    assert room.closed == [("sky.forecast", "stays_here")] * 2


async def test_the_callers_own_limit_is_not_used_and_little_of_all_others(room: AheadRoom) -> None:
    limits = MemoryCallLimits(CallRates(principal=1, servers={"files": 8}))
    room.run_ahead = replace(room.run_ahead, guard=replace(room.doors.gate, limits=limits))
    async with room.running():
        for path in ("a", "b", "c"):
            await room.ahead(room.wanted(path=path))

    assert [given["path"] for _, given in room.upstreams.called] == ["a", "b"]
    assert room.closed == [("files.read", LimitReached.code)]
    assert room.use_of("files").at_once == 0


async def test_what_costs_money_is_called_until_that_is_spent() -> None:
    room = AheadRoom(PrefetchLimits(dollars=0.1, prices={"files.*": 0.06}))
    async with room.running():
        await room.ahead(room.wanted())
        await room.ahead(room.wanted(path="b"))

    assert len(room.upstreams.called) == 1
    assert room.closed == [("files.read", "affordable")]


async def test_what_waits_already_is_not_called_again(room: AheadRoom) -> None:
    async with room.running():
        await room.ahead(room.wanted())

        assert await room.run_ahead.these(ANA, [room.wanted()]) != []
        await room.landed()
    assert len(room.upstreams.called) == 1


async def test_reads_that_hang_on_others_follow_as_answers_come(room: AheadRoom) -> None:
    """And only so far."""

    def then(answer: ToolResult) -> list[ReadRequest]:
        path = f"{answer.content[0]['text']}x"
        return [replace(room.wanted(path=path), then=then)]

    room.upstreams.replies[READ.ref] = lambda given: text(str(given["path"]))

    await begun(room, replace(room.wanted(path="x"), then=then))

    assert [given["path"] for _, given in room.upstreams.called] == ["x", "xx", "xxx"]


async def test_what_was_read_and_not_taken_in_yet_counts_for_where_it_may_be_sent() -> None:
    """The task itself is still clean: nobody has been told the answer."""
    room = AheadRoom(PrefetchLimits(external=frozenset({"sky"})))
    room.label("files", TEAM, trusted=True)
    room.label("sky", clearance=Label(Level.PUBLIC))
    room.slow(WEATHER)
    after = room.wanted(WEATHER)
    first = replace(room.wanted(), then=lambda _: [after])

    assert await begun(room, first) == ["files.read"]
    assert room.closed == [("sky.forecast", "stays_here")]
    others = [gate for gate in GATES if gate.name != "stays_here"]
    room.run_ahead = replace(room.run_ahead, gates=others)
    assert await begun(room, replace(first, arguments={"path": "b"})) == ["files.read"] * 2
    assert room.closed[1:] == [("sky.forecast", "allowed")]
    assert [*room.world.contexts.values()] == []
    assert await begun(room, after) == ["files.read", "files.read", "sky.forecast"]


async def test_what_breaks_in_what_follows_breaks_nothing_else(
    room: AheadRoom, caplog: pytest.LogCaptureFixture
) -> None:
    def then(answer: ToolResult) -> list[ReadRequest]:
        raise KeyError(str(answer))

    room.upstreams.replies[READ.ref] = text("CANARY-7711")
    async with room.running():
        await room.ahead(replace(room.wanted(), then=then))
        await room.until(lambda: bool(caplog.records))

        assert (await room.asked()).answer.meta is not None
    assert "CANARY" not in caplog.text


async def test_an_unsettled_change_counts_up_to_the_last_moment(room: AheadRoom) -> None:
    room.upstreams.replies[WRITE.ref] = UpstreamDown("files", "it ended", reached=True)

    async def write() -> None:
        with pytest.raises(UpstreamDown):
            await room.call(ANA, WRITE.ref, {"path": "a"})

    meanwhile(room, write)

    assert await begun(room, room.wanted()) == ["files.write"]
    assert room.closed == [("files.read", "settled")]


async def test_a_key_that_is_revoked_at_the_last_moment_has_nothing_made(room: AheadRoom) -> None:
    caller = a_key(room)

    async def revoked() -> None:
        revoke(room)

    meanwhile(room, revoked)

    assert await begun(room, room.wanted(), caller=caller) == []
    assert room.closed == [("files.read", "in_good_standing")]


async def test_what_is_not_begun_is_nowhere_counted_and_not_in_the_audit(room: AheadRoom) -> None:
    """The lane does not run."""
    await room.wake_up()

    assert await room.run_ahead.these(ANA, [room.wanted()]) == []

    use = room.use_of("files")
    assert (use.at_once, use.last_minute) == (0, 0)
    assert [act for act in room.acts if "ahead" in str(act)] == []
