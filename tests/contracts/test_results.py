"""What the gateway may rely on of `Results`."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.call import KeptResult, ResultId
from portico.gateway.core.errors import ResultNotFound
from portico.guard.core.authentication import as_principal
from portico.kernel.json import JsonValue
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.guard import a_person, a_space
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors

TOMORROW = BEGINNING + timedelta(days=1)
RESULT = ResultId.mint(BEGINNING, SeededEntropy("result"))
X = KeptResult(content="x")
HR = frozenset({"hr"})


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "a\0b 😀",
        [1, 2.5, {"b": None, "a": [True]}],
        {"text": "x" * 300_000},
        "half \ud800",
        2**60,
    ],
    ids=["none", "empty", "nul", "list", "long", "half", "number"],
)
async def test_a_result_comes_back_as_it_was_kept(doors: Doors, content: JsonValue) -> None:
    root = await doors.founded("home")

    kept = KeptResult(content=content, label=Label(Level.TEAM), untrusted=False)

    await doors.results.keep(root, RESULT, kept, TOMORROW)

    assert await doors.results.get(root, RESULT, BEGINNING) == kept


async def test_what_was_never_kept_is_not_found(doors: Doors) -> None:
    root = await doors.founded("home")

    with pytest.raises(ResultNotFound):
        await doors.results.get(root, RESULT, BEGINNING)


async def test_a_result_is_there_until_its_time_is_over(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.results.keep(root, RESULT, X, TOMORROW)

    before = await doors.results.get(root, RESULT, TOMORROW - timedelta(microseconds=1))

    assert before == X
    with pytest.raises(ResultNotFound):
        await doors.results.get(root, RESULT, TOMORROW)


async def test_nobody_else_has_it_not_even_in_the_same_space(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = as_principal(await doors.joined(root, "bob"))
    stranger = await doors.founded("acme")
    await doors.results.keep(bob, RESULT, X, TOMORROW)

    for other in (root, stranger):
        with pytest.raises(ResultNotFound):
            await doors.results.get(other, RESULT, BEGINNING)
    with pytest.raises(REFUSED):
        await doors.results.keep(root, RESULT, KeptResult(content="y"), TOMORROW)

    assert await doors.results.get(bob, RESULT, BEGINNING) == X


async def test_what_is_kept_already_stays_as_it_is(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.results.keep(root, RESULT, X, TOMORROW)

    await doors.results.keep(root, RESULT, KeptResult(content="y"), TOMORROW)

    assert await doors.results.get(root, RESULT, BEGINNING) == X


async def test_many_at_once_are_all_kept(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = as_principal(await doors.joined(root, "bob"))
    entropy = SeededEntropy("many")
    kept = [
        (who, ResultId.mint(BEGINNING, entropy), KeptResult(content=number))
        for number in range(20)
        for who in (root, bob)
    ]

    await asyncio.gather(*(doors.results.keep(*each, TOMORROW) for each in kept))

    for who, result, what in kept:
        assert (await doors.results.get(who, result, BEGINNING)).content == what.content


async def test_nothing_is_kept_for_nobody(doors: Doors) -> None:
    root = await doors.founded("home")
    nobody = a_person("nobody", space=await doors.spaces.get(root))
    nowhere = a_person("nobody", space=a_space("nowhere"))

    for who in (nobody, nowhere):
        with pytest.raises(REFUSED):
            await doors.results.keep(who, RESULT, X, TOMORROW)


async def test_it_is_as_secret_as_what_its_task_had_read(doors: Doors) -> None:
    """It may say it again."""
    root = replace(await doors.founded("home"), clearance=Label(Level.RESTRICTED, HR))
    await doors.contexts.rise(root, Label(Level.CONFIDENTIAL, HR), untrusted=True)

    kept = KeptResult(content="x", label=Label(Level.TEAM), untrusted=False)
    await doors.results.keep(root, RESULT, kept, TOMORROW)

    found = await doors.results.get(root, RESULT, BEGINNING)
    assert (found.label, found.untrusted) == (Label(Level.CONFIDENTIAL, HR), True)


async def test_whoever_is_no_longer_cleared_for_it_does_not_have_it(doors: Doors) -> None:
    """Though it can be kept: what was made for somebody is kept for them all the same."""
    root = replace(await doors.founded("home"), clearance=PUBLIC)
    kept = KeptResult(content="x", label=Label(Level.TEAM, HR))

    await doors.results.keep(root, RESULT, kept, TOMORROW)

    with pytest.raises(ResultNotFound):
        await doors.results.get(root, RESULT, BEGINNING)
    cleared = replace(root, clearance=Label(Level.TEAM, HR))
    assert await doors.results.get(cleared, RESULT, BEGINNING) == kept


async def test_what_is_kept_cannot_be_read_where_it_stands(doors: Doors) -> None:
    """Whoever has a copy of the database has no more than that."""
    root = await doors.founded("home")
    kept = KeptResult(content={"token": "canary-of-a-result"})

    await doors.results.keep(root, RESULT, kept, TOMORROW)

    [row] = [row async for row in doors.spaces.export(root) if row.table == "tool_result"]
    sealed = bytes.fromhex(str(row.values["sealed"]).removeprefix("\\x"))
    assert b"canary" not in sealed
    assert "canary" not in str(row.values)
    assert (await doors.results.get(root, RESULT, BEGINNING)).content == kept.content
