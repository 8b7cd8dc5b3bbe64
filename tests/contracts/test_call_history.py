"""What the gateway may rely on of `CallHistory`, and the lane of `Elsewhere`."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from portico.gateway.core.calls import (
    MARGIN,
    UNBOUNDED,
    Call,
    CallClaim,
    CallId,
    CallOutcome,
    CallStats,
    claim_of,
)
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import BegunBefore
from portico.gateway.core.servers import Http
from portico.gateway.ports import CallHistory
from portico.guard.core.access_request import AccessRequest, ActionTarget
from portico.guard.core.authentication import as_principal
from portico.guard.core.contexts import context_of
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId, PrincipalId, RunId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.gateway import a_server
from portico.testing.guard import a_person, a_space
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors

READ, WRITE = ToolRef("files", "read"), ToolRef("files", "write")
SEND = ToolRef("mail", "send")
SECRET = Label(Level.CONFIDENTIAL, frozenset({"hr"}))
SECOND, MINUTE, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)
RUN = RunId.mint(BEGINNING, SeededEntropy("claimed"))
_entropy = SeededEntropy("calls")


@pytest.fixture
def calls(doors: Doors) -> CallHistory:
    return doors.calls


def a_call(
    caller: Principal, ref: ToolRef = READ, at: datetime = BEGINNING, **more: object
) -> Call:
    call = Call(
        id=CallId.mint(at, _entropy),
        principal=caller.id,
        ref=ref,
        effect=Effect.LOCAL_READ,
        pin="p",
        arguments={"path": "/a"},
        started_at=at,
    )
    return replace(call, **more)  # type: ignore[arg-type] # fields


def ended(call: Call, outcome: CallOutcome = CallOutcome.DONE, millis: float = 5) -> Call:
    return replace(call, outcome=outcome, took=timedelta(milliseconds=millis), bytes_out=3)


async def page(history: CallHistory, caller: Principal) -> list[Call]:
    return [*await history.page(caller, of=None, ref=None, before=None, limit=100)]


async def test_a_call_comes_back_as_it_was_recorded(calls: CallHistory, root: Principal) -> None:
    """And a letter that cannot be kept keeps no call out."""
    call = a_call(
        root,
        ToolRef("files", "odd.name é"),
        BEGINNING + timedelta(microseconds=123456),
        effect=Effect.UNKNOWN,
        arguments={"b": [1, 2.5, None, "é\0"], "a": {}},
        due_at=BEGINNING + timedelta(seconds=30),
        took=timedelta(days=1, microseconds=7),
        outcome=CallOutcome.FAILED,
        error="no such file",
        bytes_out=2**40,
    )
    await calls.record(root, call)
    assert await page(calls, root) == [call]

    odd = ended(a_call(root, arguments={"a": "\0 \ud800", "b": float("nan")}))
    await calls.record(root, replace(odd, error="a\0b\ud800"))
    await calls.record(root, ended(a_call(root, at=BEGINNING + SECOND)))
    assert len(await page(calls, root)) == 3


async def test_what_was_begun_is_there_at_once_whatever_fails_and_is_ended_by_its_record(
    doors: Doors, root: Principal
) -> None:
    call = a_call(root)

    with pytest.raises(RuntimeError):
        async with doors.together(root):
            await doors.calls.record_start(root, call)
            raise RuntimeError
    for history in (doors.calls, doors.calls_elsewhere):
        assert await page(history, root) == [call]

    await doors.calls.record(root, ended(call))
    assert await page(doors.calls, root) == [ended(call)]


async def test_a_call_whose_process_went_away_is_uncertain_once_it_must_be_over(
    doors: Doors, root: Principal
) -> None:
    """To other processes, and unless it ends after all."""
    there, late = doors.calls_elsewhere, a_call(root)
    bounded = a_call(root, at=BEGINNING + SECOND, due_at=BEGINNING + 30 * SECOND)
    unbounded = a_call(root, at=BEGINNING + 2 * SECOND)
    for call in (late, bounded, unbounded):
        await doors.calls.record_start(root, call)
    gone = [replace(call, outcome=CallOutcome.UNCERTAIN) for call in (late, bounded, unbounded)]

    doors.clock.turn(20 * SECOND + MARGIN)
    assert await page(there, root) == [unbounded, bounded, late]
    doors.clock.turn(20 * SECOND)
    assert await page(there, root) == [unbounded, gone[1], late]
    doors.clock.turn(UNBOUNDED - 50 * SECOND)
    assert await page(there, root) == [unbounded, gone[1], late]
    doors.clock.turn(20 * SECOND)
    assert await page(there, root) == [gone[2], gone[1], gone[0]]
    assert await page(doors.calls, root) == [unbounded, bounded, late]

    await doors.calls.record(root, ended(late))
    await page(doors.calls, root)
    assert (await page(there, root))[-1] == ended(late)


async def test_calls_are_paged_newest_first(doors: Doors, root: Principal) -> None:
    bob = as_principal(await doors.joined(root, "bob"))
    calls = [
        ended(a_call([root, bob][n % 2], [READ, WRITE, SEND][n % 3], BEGINNING + n * SECOND))
        for n in range(7)
    ]
    for call in calls:
        await doors.calls.record(root, call)

    async def found(**asked: Any) -> list[int]:
        every: dict[str, Any] = {"of": None, "ref": None, "before": None, "limit": 100, **asked}
        page = await doors.calls.page(root, **every)
        return [calls.index(call) for call in page]

    assert await found() == [6, 5, 4, 3, 2, 1, 0]
    assert await found(limit=2) == [6, 5]
    assert await found(limit=2, before=calls[5].started_at) == [4, 3]
    assert await found(ref=READ) == [6, 3, 0]
    assert await found(of=bob.id) == [5, 3, 1]
    assert await found(of=bob.id, ref=READ, before=calls[5].started_at) == [3]
    assert await found(ref=ToolRef("files", "none")) == []
    assert await found(beyond=["mail"]) == [6, 4, 3, 1, 0]
    figures = await doors.calls.stats(root, since=BEGINNING, server=None, beyond=["mail"])
    assert [its.name for its in figures] == ["files"]


async def test_figures_are_of_a_server_or_of_each_of_its_tools(
    calls: CallHistory, root: Principal
) -> None:
    for n in range(1, 102):
        await calls.record(root, ended(a_call(root, READ, BEGINNING + n * SECOND), millis=n))
    later = BEGINNING + timedelta(hours=1)
    await calls.record(root, ended(a_call(root, WRITE, later), CallOutcome.FAILED, 1))
    await calls.record(root, ended(a_call(root, WRITE, later + SECOND), millis=2))
    await calls.record(root, ended(a_call(root, SEND), millis=7))

    servers = await calls.stats(root, since=BEGINNING, server=None)
    tools = await calls.stats(root, since=BEGINNING, server="files")

    assert [(each.name, each.calls, each.failures) for each in servers] == [
        ("files", 103, 1),
        ("mail", 1, 0),
    ]
    ms = timedelta(milliseconds=1)
    assert tools == [
        CallStats("read", 101, 0, 51 * ms, 96 * ms, 100 * ms, BEGINNING + 101 * SECOND),
        CallStats("write", 2, 1, 1.5 * ms, 1.95 * ms, 1.99 * ms, later + SECOND),
    ]


async def test_figures_are_of_the_time_the_principal_or_the_task_that_was_asked_for(
    calls: CallHistory, root: Principal
) -> None:
    here = context_of(root)
    for n in range(4):
        at = BEGINNING + n * SECOND
        await calls.record(root, ended(a_call(root, READ, at, context=here if n else None)))

    async def counted(since: datetime = BEGINNING, **asked: Any) -> int:
        found = await calls.stats(root, since=since, server=None, **asked)
        return sum(each.calls for each in found)

    assert await counted(BEGINNING + 2 * SECOND) == 2
    assert await counted(BEGINNING + 9 * SECOND) == 0
    assert await counted(of=root.id) == 4
    assert await counted(of=PrincipalId(UUID(int=9))) == 0
    assert await counted(task=here) == 3
    assert await counted(task=ContextId(UUID(int=9))) == 0


async def test_what_went_wrong_is_counted_and_what_the_caller_ended_or_is_under_way_is_not(
    doors: Doors, root: Principal
) -> None:
    for outcome in CallOutcome:
        ref = ToolRef("files", outcome.name)
        await doors.calls.record(root, ended(a_call(root, ref), outcome))
    await doors.calls.record_start(root, a_call(root, SEND))

    figures = await doors.calls.stats(root, since=BEGINNING, server="files")
    right = {CallOutcome.DONE, CallOutcome.CANCELLED}
    assert {each.name: (each.calls, each.failures) for each in figures} == {
        outcome.name: (1, 0 if outcome in right else 1) for outcome in CallOutcome
    }

    there = doors.calls_elsewhere
    assert await there.stats(root, since=BEGINNING, server="mail") == []
    doors.clock.turn(DAY)
    [after] = await there.stats(root, since=BEGINNING, server="mail")
    assert (after.calls, after.failures, after.p99) == (1, 1, timedelta())
    assert await doors.calls.stats(root, since=BEGINNING, server="mail") == []


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_calls_of_another_space_do_not_exist_and_go_with_it(
    doors: Doors, root: Principal
) -> None:
    calls, acme = doors.calls, await doors.founded("acme")
    call, stranger = ended(a_call(acme)), a_person("eve", space=a_space("nowhere"))
    await calls.record(acme, call)
    await calls.record(root, ended(a_call(root, WRITE)))

    assert [found.ref for found in await page(calls, root)] == [WRITE]
    figures = await calls.stats(root, since=BEGINNING, server="files")
    assert [each.name for each in figures] == ["write"]
    await calls.record(root, replace(call, outcome=CallOutcome.BROKEN))
    assert await page(calls, acme) == [call]

    with pytest.raises(REFUSED):
        await calls.record_start(stranger, a_call(stranger))
    await calls.record(stranger, ended(a_call(stranger)))
    await calls.record(root, ended(a_call(root)))
    assert await page(calls, stranger) == []
    assert len(await page(calls, root)) == 3
    await calls.record(root, ended(a_call(root)))
    await doors.spaces.delete(root)
    assert await page(calls, root) == []
    await calls.record(acme, ended(a_call(acme)))
    assert len(await page(calls, acme)) == 2


async def test_a_call_is_seen_by_whoever_is_cleared_for_it_and_for_what_its_task_had_read(
    doors: Doors, root: Principal
) -> None:
    """It is recorded by whoever may, also where they are not cleared for it any more."""
    cleared, task = replace(root, clearance=SECRET), replace(root, place="task")
    below = replace(root, clearance=Label(Level.RESTRICTED))
    begun, recorded = a_call(root, label=SECRET), a_call(root, WRITE)
    await doors.contexts.raise_taint(replace(task, clearance=SECRET), SECRET, untrusted=False)
    low = replace(task, clearance=PUBLIC)
    risen = a_call(root, SEND, context=context_of(task), label=Label(Level.TEAM))

    await doors.calls.record_start(cleared, begun)
    for call in (begun, recorded):
        await doors.calls.record(below, ended(call))
    await doors.calls.record_start(low, risen)
    await doors.calls.record(low, ended(risen))

    found = {call.ref: call for call in await page(doors.calls, cleared)}
    assert {*found} == {READ, WRITE, SEND}
    assert (found[SEND].label, found[SEND].context) == (SECRET, context_of(task))
    assert found[SEND].outcome is CallOutcome.DONE
    assert {call.ref for call in await page(doors.calls, below)} == {WRITE}
    assert SEND not in {call.ref for call in await page(doors.calls, low)}
    [figures] = await doors.calls.stats(below, since=BEGINNING, server=None)
    assert (figures.name, figures.calls) == ("files", 1)


def begun(caller: Principal, claim: CallClaim, seconds: float = 0) -> Call:
    at = BEGINNING + timedelta(seconds=seconds)
    return replace(a_call(caller, WRITE, at, effect=Effect.LOCAL_WRITE), id=claim.id)


async def test_a_claim_is_used_once_whenever_and_by_whomever(doors: Doors, root: Principal) -> None:
    claim, at_once = claim_of(RUN, "send", 1), claim_of(RUN, "at once", 1)
    await doors.calls.begin_once(root, begun(root, claim), claim)

    with pytest.raises(BegunBefore) as again:
        await doors.calls_elsewhere.begin_once(root, begun(root, claim, 60), claim)
    assert again.value.outcome is None
    assert len(await page(doors.calls, root)) == 1
    assert await doors.calls_elsewhere.find_started(root, [claim]) == {claim.id}

    tried = await asyncio.gather(
        *(doors.calls.begin_once(root, begun(root, at_once, n), at_once) for n in range(4)),
        return_exceptions=True,
    )
    assert sum(one is None for one in tried) == 1
    assert sum(isinstance(one, BegunBefore) for one in tried) == 3


async def test_its_own_call_keeps_a_claim_from_being_used_and_after_a_resumption_what_may_be_done(
    calls: CallHistory, root: Principal
) -> None:
    """Only what is known to have failed is made again then."""
    for outcome in (None, *CallOutcome):
        name = str(outcome)
        first, second = claim_of(RUN, name, 1), claim_of(RUN, name, 2)
        call = begun(root, first)
        await calls.begin_once(root, call, first)
        if outcome is not None:
            await calls.record(root, ended(call, outcome))
            await page(calls, root)
        known = outcome in {CallOutcome.FAILED, CallOutcome.BROKEN}

        with pytest.raises(BegunBefore) as again:
            await calls.begin_once(root, begun(root, first, 1), first)
        assert again.value.outcome == outcome
        assert (await calls.find_started(root, [second]) == set()) is known
        if known:
            await calls.begin_once(root, begun(root, second, 1), second)
        else:
            with pytest.raises(BegunBefore):
                await calls.begin_once(root, begun(root, second, 1), second)


async def test_another_step_and_another_space_are_another_claim(
    doors: Doors, root: Principal
) -> None:
    """What was labelled above its caller since is begun all the same."""
    calls, other = doors.calls, await doors.founded("elsewhere")
    claim, next_one = claim_of(RUN, "send", 1), claim_of(RUN, "send~2", 1)
    cleared = replace(root, clearance=SECRET)
    above = replace(begun(cleared, claim), label=Label(Level.CONFIDENTIAL))
    await calls.begin_once(cleared, above, claim)

    await calls.begin_once(other, begun(other, claim), claim)
    await calls.begin_once(root, begun(root, next_one, 1), next_one)

    assert await calls.find_started(root, [claim, next_one]) == {claim.id, next_one.id}
    with pytest.raises(BegunBefore):
        await calls.begin_once(root, begun(root, claim, 1), claim)


async def test_only_the_leg_that_is_on_begins_a_call_that_no_earlier_one_has(
    doors: Doors, root: Principal
) -> None:
    run = await doors.run_of(root)
    first, second = claim_of(run, "send", 1), claim_of(run, "send", 2)
    await doors.runs.cancel(root, run)
    with pytest.raises(BegunBefore):
        await doors.calls.begin_once(root, begun(root, first), first)

    await doors.runs.resume(root, run)
    with pytest.raises(BegunBefore):
        await doors.calls.begin_once(root, begun(root, first), first)
    assert not await page(doors.calls, root)

    await doors.calls.begin_once(root, begun(root, second), second)
    assert await doors.calls.find_started(root, [second]) == {second.id}


def a_write(caller: Principal, server: str = "files", **more: object) -> Call:
    write = a_call(
        caller,
        ToolRef(server, "write"),
        effect=Effect.LOCAL_WRITE,
        due_at=BEGINNING + 30 * SECOND,
        took=SECOND,
        outcome=CallOutcome.DONE,
    )
    return replace(write, **more)  # type: ignore[arg-type] # fields


async def changed(
    doors: Doors,
    caller: Principal,
    since: datetime = BEGINNING,
    *,
    server: str = "files",
    here: bool = True,
) -> bool:
    aim = ActionTarget(
        tool=f"{server}.read", server=server, effect=Effect.LOCAL_READ, pin="p", here=here
    )
    return await doors.changes_elsewhere.changed_since(
        AccessRequest(caller=caller, target=aim), since
    )


async def elsewhere(doors: Doors, caller: Principal, call: Call) -> None:
    """Another process has made it."""
    await doors.calls_elsewhere.record_start(caller, call)


async def test_a_change_elsewhere_counts_for_its_principal_and_for_whatever_is_read_there(
    doors: Doors, root: Principal
) -> None:
    """What nobody knows any more where it ran, too."""
    bob, other = a_person("bob"), await doors.founded("elsewhere")
    await doors.servers.add(root, a_server("search", launch=Http("https://search.example")))
    await elsewhere(doors, other, a_write(other))
    await elsewhere(doors, root, a_write(root, effect=Effect.EXTERNAL_READ))
    await doors.calls.record_start(root, a_write(root))
    assert not await changed(doors, root)

    await elsewhere(doors, root, a_write(root, "search"))
    assert not await changed(doors, bob, server="git")

    await elsewhere(doors, root, a_write(root))
    assert await changed(doors, root)
    assert await changed(doors, root, server="git")
    assert await changed(doors, bob)
    assert await changed(doors, bob, server="git")
    assert not await changed(doors, bob, server="mail", here=False)


async def test_whatever_may_change_something_counts_whoever_may_know_of_it(doors: Doors) -> None:
    for effect in (each for each in Effect if not each.is_read_only):
        admin, secret = await doors.founded(effect.name), Label(Level.RESTRICTED)
        cleared, low = (replace(admin, clearance=label) for label in (secret, PUBLIC))
        await elsewhere(doors, cleared, a_write(admin, effect=effect, label=secret))

        assert await changed(doors, low)


async def test_a_change_counts_until_it_was_over_before(doors: Doors, root: Principal) -> None:
    """Two clocks may differ by two seconds; what nobody knows the end of counts for a minute
    longer."""
    known = {CallOutcome.DONE: 3 * SECOND, CallOutcome.FAILED: 3 * SECOND}
    for outcome in CallOutcome:
        admin, until = await doors.founded(outcome.name), known.get(outcome, MINUTE + 3 * SECOND)
        await elsewhere(doors, admin, a_write(admin, outcome=outcome))

        assert await changed(doors, admin, BEGINNING + until)
        assert not await changed(doors, admin, BEGINNING + until + 0.1 * SECOND)

    await elsewhere(doors, root, a_write(root, outcome=None, took=None))  # it is under way
    assert await changed(doors, root, BEGINNING + DAY)
    doors.clock.turn(30 * SECOND + MARGIN)
    assert not await changed(doors, root, BEGINNING + DAY)
