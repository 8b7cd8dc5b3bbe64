"""What the gateway may rely on of `CallHistory`."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from portico.gateway.core.call import MARGIN, UNBOUNDED, Call, CallId, CallOutcome, Figures
from portico.gateway.core.tool import ToolRef
from portico.gateway.ports import CallHistory
from portico.guard.core.authentication import as_principal
from portico.guard.core.context import context_of
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId, PrincipalId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import a_person, a_space
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors

READ, WRITE = ToolRef("files", "read"), ToolRef("files", "write")
SEND = ToolRef("mail", "send")
SECRET = Label(Level.CONFIDENTIAL, frozenset({"hr"}))
SECOND = timedelta(seconds=1)
_entropy = SeededEntropy("calls")


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


async def test_a_call_comes_back_as_it_was_recorded(doors: Doors) -> None:
    root = await doors.founded("home")
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

    await doors.calls.record(root, call)

    assert await page(doors.calls, root) == [call]


async def test_what_was_begun_is_ended_by_its_record(doors: Doors) -> None:
    root = await doors.founded("home")
    call = a_call(root)

    await doors.calls.begin(root, call)
    under_way = await page(doors.calls, root)
    await doors.calls.record(root, ended(call))

    assert under_way == [call]
    assert await page(doors.calls, root) == [ended(call)]


async def test_what_was_begun_is_there_for_others_at_once(doors: Doors) -> None:
    root = await doors.founded("home")
    call = a_call(root)

    await doors.calls.begin(root, call)

    assert await page(doors.calls_elsewhere, root) == [call]


async def test_what_was_begun_stays_though_what_it_was_part_of_failed(doors: Doors) -> None:
    root = await doors.founded("home")
    call = a_call(root)

    with pytest.raises(RuntimeError):
        async with doors.together(root):
            await doors.calls.begin(root, call)
            raise RuntimeError

    assert await page(doors.calls, root) == [call]


@pytest.mark.parametrize("due", [None, BEGINNING + timedelta(seconds=30)])
async def test_a_call_whose_process_went_away_is_uncertain_once_it_must_be_over(
    doors: Doors, due: datetime | None
) -> None:
    root = await doors.founded("home")
    call = a_call(root, due_at=due)
    await doors.calls.begin(root, call)
    over = (due or BEGINNING + UNBOUNDED) + MARGIN

    doors.clock.turn(over - BEGINNING - 10 * SECOND)
    before = await page(doors.calls_elsewhere, root)
    doors.clock.turn(20 * SECOND)

    uncertain = replace(call, outcome=CallOutcome.UNCERTAIN)
    assert before == [call]
    assert await page(doors.calls_elsewhere, root) == [uncertain]
    assert await page(doors.calls, root) == [call]


async def test_a_call_that_ends_after_all_is_not_uncertain(doors: Doors) -> None:
    root = await doors.founded("home")
    call = a_call(root)
    await doors.calls.begin(root, call)
    doors.clock.turn(timedelta(days=1))

    await doors.calls.record(root, ended(call))
    await page(doors.calls, root)

    assert await page(doors.calls_elsewhere, root) == [ended(call)]


async def test_calls_are_paged_newest_first(doors: Doors) -> None:
    root = await doors.founded("home")
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


async def test_figures_are_of_a_server_or_of_each_of_its_tools(doors: Doors) -> None:
    root = await doors.founded("home")
    for n in range(1, 102):
        await doors.calls.record(root, ended(a_call(root, READ, BEGINNING + n * SECOND), millis=n))
    later = BEGINNING + timedelta(hours=1)
    await doors.calls.record(root, ended(a_call(root, WRITE, later), CallOutcome.FAILED, 1))
    await doors.calls.record(root, ended(a_call(root, WRITE, later + SECOND), millis=2))
    await doors.calls.record(root, ended(a_call(root, SEND), millis=7))

    servers = await doors.calls.figures(root, since=BEGINNING, server=None)
    tools = await doors.calls.figures(root, since=BEGINNING, server="files")

    assert [(each.name, each.calls, each.failures) for each in servers] == [
        ("files", 103, 1),
        ("mail", 1, 0),
    ]
    assert tools == [
        Figures(
            "read",
            101,
            0,
            timedelta(milliseconds=51),
            timedelta(milliseconds=96),
            timedelta(milliseconds=100),
            BEGINNING + 101 * SECOND,
        ),
        Figures(
            "write",
            2,
            1,
            timedelta(microseconds=1500),
            timedelta(microseconds=1950),
            timedelta(microseconds=1990),
            later + SECOND,
        ),
    ]


async def test_figures_are_of_the_time_that_was_asked_for(doors: Doors) -> None:
    root = await doors.founded("home")
    for n in range(4):
        await doors.calls.record(root, ended(a_call(root, READ, BEGINNING + n * SECOND)))

    [figures] = await doors.calls.figures(root, since=BEGINNING + 2 * SECOND, server=None)

    assert figures.calls == 2
    assert await doors.calls.figures(root, since=BEGINNING + 9 * SECOND, server=None) == []


async def test_figures_can_be_of_one_principal_alone(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.calls.record(root, ended(a_call(root)))

    [mine] = await doors.calls.figures(root, since=BEGINNING, server=None, of=root.id)
    nobodys = await doors.calls.figures(
        root, since=BEGINNING, server=None, of=PrincipalId(UUID(int=9))
    )

    assert (mine.calls, nobodys) == (1, [])


async def test_figures_can_be_of_one_task_alone(doors: Doors) -> None:
    root = await doors.founded("home")
    here = context_of(root)
    await doors.calls.record(root, ended(a_call(root, context=here)))

    [mine] = await doors.calls.figures(root, since=BEGINNING, server=None, task=here)
    elsewhere = await doors.calls.figures(
        root, since=BEGINNING, server=None, task=ContextId(UUID(int=9))
    )

    assert (mine.calls, elsewhere) == (1, [])


@pytest.mark.parametrize("outcome", list(CallOutcome))
async def test_what_went_wrong_is_counted_and_what_the_caller_ended_is_not(
    doors: Doors, outcome: CallOutcome
) -> None:
    root = await doors.founded("home")
    await doors.calls.record(root, ended(a_call(root), outcome))

    [figures] = await doors.calls.figures(root, since=BEGINNING, server=None)

    right = outcome in {CallOutcome.DONE, CallOutcome.CANCELLED}
    assert (figures.calls, figures.failures) == (1, 0 if right else 1)


async def test_what_is_under_way_does_not_count_until_nobody_knows(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.calls.begin(root, a_call(root))

    before = await doors.calls_elsewhere.figures(root, since=BEGINNING, server=None)
    doors.clock.turn(timedelta(days=1))
    [after] = await doors.calls_elsewhere.figures(root, since=BEGINNING, server=None)

    assert before == []
    assert (after.calls, after.failures, after.p99) == (1, 1, timedelta())
    assert await doors.calls.figures(root, since=BEGINNING, server=None) == []


async def test_a_letter_that_cannot_be_kept_keeps_no_call_out(doors: Doors) -> None:
    root = await doors.founded("home")
    odd = ended(a_call(root, arguments={"a": "\0 \ud800", "b": float("nan")}))

    await doors.calls.record(root, replace(odd, error="a\0b\ud800"))
    await doors.calls.record(root, ended(a_call(root, at=BEGINNING + SECOND)))

    assert len(await page(doors.calls, root)) == 2


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_calls_of_another_space_do_not_exist(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    call = ended(a_call(acme))
    await doors.calls.record(acme, call)
    await doors.calls.record(home, ended(a_call(home, WRITE)))

    assert [found.ref for found in await page(doors.calls, home)] == [WRITE]
    figures = await doors.calls.figures(home, since=BEGINNING, server="files")
    assert [each.name for each in figures] == ["write"]
    await doors.calls.record(home, replace(call, outcome=CallOutcome.BROKEN))
    assert await page(doors.calls, acme) == [call]


async def test_the_calls_of_a_space_go_with_it_and_one_too_many_harms_no_other(
    doors: Doors,
) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    await doors.calls.record(home, ended(a_call(home)))
    await page(doors.calls, home)
    await doors.spaces.delete(home)

    assert await page(doors.calls, home) == []
    await doors.calls.record(acme, ended(a_call(acme)))
    assert len(await page(doors.calls, acme)) == 1


async def test_nobody_calls_from_a_space_that_does_not_exist(doors: Doors) -> None:
    root, stranger = await doors.founded("home"), a_person("eve", space=a_space("nowhere"))

    with pytest.raises(REFUSED):
        await doors.calls.begin(stranger, a_call(stranger))
    await doors.calls.record(stranger, ended(a_call(stranger)))
    await doors.calls.record(root, ended(a_call(root)))

    assert await page(doors.calls, stranger) == []
    assert len(await page(doors.calls, root)) == 1


async def test_a_call_is_seen_by_whoever_is_cleared_for_it(doors: Doors) -> None:
    root = replace(await doors.founded("home"), clearance=SECRET)
    below = replace(root, clearance=Label(Level.RESTRICTED))
    begun, recorded = a_call(root, label=SECRET), a_call(root, WRITE)

    await doors.calls.begin(root, begun)
    await doors.calls.record(below, ended(begun))
    await doors.calls.record(below, ended(recorded))

    assert {call.ref for call in await page(doors.calls, root)} == {READ, WRITE}
    assert {call.ref for call in await page(doors.calls, below)} == {WRITE}
    [figures] = await doors.calls.figures(below, since=BEGINNING, server=None)
    assert (figures.name, figures.calls) == ("files", 1)


async def test_a_call_is_at_least_as_secret_as_what_its_task_had_read(doors: Doors) -> None:
    """Whoever may record it, also where they are not cleared for it any more."""
    root = replace(await doors.founded("home"), clearance=SECRET)
    await doors.contexts.rise(root, SECRET, untrusted=False)
    below = replace(root, clearance=PUBLIC)
    call = a_call(root, context=context_of(root), label=Label(Level.TEAM))

    await doors.calls.begin(below, call)
    await doors.calls.record(below, ended(call))

    [found] = await page(doors.calls, root)
    assert (found.label, found.context) == (SECRET, context_of(root))
    assert found.outcome is CallOutcome.DONE
    assert await page(doors.calls, below) == []


async def test_of_servers_that_are_beyond_somebody_by_now_there_is_nothing(doors: Doors) -> None:
    root = await doors.founded("home")
    for ref in (READ, SEND):
        await doors.calls.record(root, ended(a_call(root, ref)))

    calls = await doors.calls.page(root, ref=None, before=None, limit=9, beyond=["mail"])
    figures = await doors.calls.figures(root, since=BEGINNING, server=None, beyond=["mail"])

    assert [call.ref for call in calls] == [READ]
    assert [its.name for its in figures] == ["files"]
