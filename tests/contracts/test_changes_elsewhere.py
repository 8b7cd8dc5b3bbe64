"""What the lane may rely on of `Elsewhere`: no change that another process makes is missed."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from portico.gateway.core.call import MARGIN, Call, CallId, CallOutcome
from portico.gateway.core.server import Http
from portico.gateway.core.tool import ToolRef
from portico.guard.core.act import Act, Aim
from portico.kernel.effect import Effect
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.gateway import a_server
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import Doors

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
_entropy = SeededEntropy("changes")


def a_write(caller: Principal, at: datetime = BEGINNING, **more: object) -> Call:
    call = Call(
        id=CallId.mint(at, _entropy),
        principal=caller.id,
        ref=ToolRef("files", "write"),
        effect=Effect.LOCAL_WRITE,
        pin="p",
        arguments={},
        started_at=at,
        due_at=at + 30 * SECOND,
        took=SECOND,
        outcome=CallOutcome.DONE,
    )
    return replace(call, **more)  # type: ignore[arg-type] # fields


async def changed(
    doors: Doors,
    caller: Principal,
    since: datetime = BEGINNING,
    *,
    server: str = "files",
    here: bool = True,
) -> bool:
    aim = Aim(tool=f"{server}.read", server=server, effect=Effect.LOCAL_READ, pin="p", here=here)
    return await doors.changes_elsewhere.changed_since(Act(caller=caller, aim=aim), since)


async def elsewhere(doors: Doors, caller: Principal, call: Call) -> None:
    """Another process has made it."""
    await doors.calls_elsewhere.begin(caller, call)


async def test_where_nobody_changes_anything_nothing_has_changed(doors: Doors) -> None:
    root = await doors.founded("home")

    assert not await changed(doors, root)


async def test_a_change_counts_for_its_principal_and_at_its_server(doors: Doors) -> None:
    root = await doors.founded("home")
    await elsewhere(doors, root, a_write(root))

    assert await changed(doors, root)
    assert await changed(doors, root, server="git")
    assert await changed(doors, a_person("bob"))
    assert not await changed(doors, a_person("bob"), server="search", here=False)


async def test_a_change_here_counts_for_whatever_is_read_here(doors: Doors) -> None:
    """What nobody knows any more where it ran, too."""
    root = await doors.founded("home")
    await doors.servers.add(root, a_server("search", launch=Http("https://search.example")))
    await elsewhere(doors, root, a_write(root, ref=ToolRef("search", "write")))
    bob = a_person("bob")
    assert not await changed(doors, bob, server="git")

    await elsewhere(doors, root, a_write(root))

    assert await changed(doors, bob, server="git")


async def test_a_change_of_another_space_is_none_of_ours(doors: Doors) -> None:
    root, other = await doors.founded("home"), await doors.founded("elsewhere")
    await elsewhere(doors, other, a_write(other))

    assert not await changed(doors, root)


async def test_what_reads_and_what_this_process_does_itself_does_not_count(doors: Doors) -> None:
    root = await doors.founded("home")
    await elsewhere(doors, root, a_write(root, effect=Effect.EXTERNAL_READ))
    await doors.calls.begin(root, a_write(root))

    assert not await changed(doors, root)


@pytest.mark.parametrize("effect", [each for each in Effect if not each.reads_only])
async def test_whatever_may_change_something_counts(doors: Doors, effect: Effect) -> None:
    root = await doors.founded("home")
    await elsewhere(doors, root, a_write(root, effect=effect))

    assert await changed(doors, root)


async def test_a_change_that_was_over_before_counts_no_more(doors: Doors) -> None:
    """Two clocks may differ by two seconds."""
    root = await doors.founded("home")
    await elsewhere(doors, root, a_write(root))

    assert await changed(doors, root, BEGINNING + 3 * SECOND)
    assert not await changed(doors, root, BEGINNING + 3.1 * SECOND)


@pytest.mark.parametrize(
    "outcome", [each for each in CallOutcome if each not in {CallOutcome.DONE, CallOutcome.FAILED}]
)
async def test_what_nobody_knows_the_end_of_counts_for_a_minute_longer(
    doors: Doors, outcome: CallOutcome
) -> None:
    root = await doors.founded("home")
    await elsewhere(doors, root, a_write(root, outcome=outcome))

    assert await changed(doors, root, BEGINNING + MINUTE)
    assert not await changed(doors, root, BEGINNING + MINUTE + 4 * SECOND)


async def test_a_change_that_is_under_way_counts_until_it_must_have_been_given_up(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    await elsewhere(doors, root, a_write(root, outcome=None, took=None))

    assert await changed(doors, root, BEGINNING + timedelta(days=1))
    doors.clock.turn(30 * SECOND + MARGIN)
    assert not await changed(doors, root, BEGINNING + timedelta(days=1))


async def test_a_change_counts_whoever_may_know_of_it(doors: Doors) -> None:
    root = await doors.founded("home")
    secret = Label(Level.RESTRICTED)
    await elsewhere(doors, replace(root, clearance=secret), a_write(root, label=secret))

    assert await changed(doors, replace(a_person("bob"), clearance=Label(Level.PUBLIC)))
