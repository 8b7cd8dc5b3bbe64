"""What the gateway may rely on of `Results`, `ToolUsageStore` and `Vectors`."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from portico.gateway.core.calls import ResultId, StoredResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import ResultNotFound
from portico.gateway.ports import Results, ToolUsageStore, Vectors
from portico.guard.core.authentication import as_principal
from portico.kernel.json import JsonValue
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import a_person, a_space
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors

Made = Mapping[str, NDArray[np.float32]]

DAY = timedelta(days=1)
TOMORROW = BEGINNING + DAY
RESULT = ResultId.mint(BEGINNING, SeededEntropy("result"))
X = StoredResult(content="x")
HR = frozenset({"hr"})
READ, WRITE, LIST = (ToolRef("files", name) for name in ("read", "write", "list"))
CONTENTS: list[JsonValue] = [None, "", "a\0b 😀", "half \ud800", 2**60, {"text": "x" * 300_000}]
CONTENTS.append([1, 2.5, {"b": None, "a": [True]}])


@pytest.fixture
def results(doors: Doors) -> Results:
    return doors.results


@pytest.fixture
def known(doors: Doors) -> ToolUsageStore:
    return doors.acquaintances


@pytest.fixture
def vectors(doors: Doors) -> Vectors:
    return doors.vectors


async def test_a_result_comes_back_as_it_was_kept_first_until_its_time_is_over(
    results: Results, root: Principal
) -> None:
    entropy = SeededEntropy("contents")
    for content in CONTENTS:
        result = ResultId.mint(BEGINNING, entropy)
        kept = StoredResult(content=content, label=Label(Level.TEAM), untrusted=False)
        with pytest.raises(ResultNotFound):
            await results.get(root, result, BEGINNING)

        await results.keep(root, result, kept, TOMORROW)
        await results.keep(root, result, X, TOMORROW)

        assert await results.get(root, result, BEGINNING) == kept
        assert await results.get(root, result, TOMORROW - timedelta(microseconds=1)) == kept
        with pytest.raises(ResultNotFound):
            await results.get(root, result, TOMORROW)


async def test_nobody_else_has_it_not_even_in_the_same_space(doors: Doors, root: Principal) -> None:
    results, stranger = doors.results, await doors.founded("acme")
    bob = as_principal(await doors.joined(root, "bob"))
    nobody = a_person("nobody", space=await doors.spaces.get(root))
    await results.keep(bob, RESULT, X, TOMORROW)

    for other in (root, stranger):
        with pytest.raises(ResultNotFound):
            await results.get(other, RESULT, BEGINNING)
    for other in (root, nobody, a_person("nobody", space=a_space("nowhere"))):
        with pytest.raises(REFUSED):
            await results.keep(other, RESULT, StoredResult(content="y"), TOMORROW)

    assert await results.get(bob, RESULT, BEGINNING) == X


async def test_many_at_once_are_all_kept(doors: Doors, root: Principal) -> None:
    bob = as_principal(await doors.joined(root, "bob"))
    entropy = SeededEntropy("many")
    kept = [
        (who, ResultId.mint(BEGINNING, entropy), StoredResult(content=number))
        for number in range(20)
        for who in (root, bob)
    ]

    await asyncio.gather(*(doors.results.keep(*each, TOMORROW) for each in kept))

    for who, result, what in kept:
        assert (await doors.results.get(who, result, BEGINNING)).content == what.content


async def test_it_is_as_secret_as_what_its_task_had_read(doors: Doors, root: Principal) -> None:
    """It may say it again. What was made for somebody is kept for them, cleared for it or not."""
    results, secret = doors.results, Label(Level.CONFIDENTIAL, HR)
    cleared, low = replace(root, clearance=secret), replace(root, clearance=PUBLIC, place="low")
    above, other = replace(low, clearance=Label(Level.TEAM, HR)), SeededEntropy("other")
    await doors.contexts.raise_taint(cleared, secret, untrusted=True)

    kept = StoredResult(content="x", label=Label(Level.TEAM), untrusted=False)
    await results.keep(cleared, RESULT, kept, TOMORROW)
    found = await results.get(cleared, RESULT, BEGINNING)
    assert (found.label, found.untrusted) == (secret, True)

    result, kept = ResultId.mint(BEGINNING, other), replace(kept, label=above.clearance)
    await results.keep(low, result, kept, TOMORROW)
    with pytest.raises(ResultNotFound):
        await results.get(low, result, BEGINNING)
    assert await results.get(above, result, BEGINNING) == kept


async def test_what_is_kept_cannot_be_read_where_it_stands(doors: Doors, root: Principal) -> None:
    """Whoever has a copy of the database has no more than that."""
    kept = StoredResult(content={"token": "canary-of-a-result"})

    await doors.results.keep(root, RESULT, kept, TOMORROW)

    [row] = [row async for row in doors.spaces.export(root) if row.table == "tool_result"]
    sealed = bytes.fromhex(str(row.values["sealed"]).removeprefix("\\x"))
    assert b"canary" not in sealed
    assert "canary" not in str(row.values)
    assert (await doors.results.get(root, RESULT, BEGINNING)).content == kept.content


async def test_what_was_found_or_used_last_comes_first_with_what_it_was_found_for(
    known: ToolUsageStore, root: Principal
) -> None:
    assert await known.known(root, 10) == []
    assert await known.most_used(root, 10) == []

    await known.found(root, [READ, LIST], "read é\0", BEGINNING)
    await known.found(root, [WRITE, WRITE], "write", BEGINNING + DAY)
    await known.found(root, [], "nothing", BEGINNING + DAY)
    assert [ref for ref, _ in await known.known(root, 10)] == [WRITE, LIST, READ]

    await known.found(root, [READ], "read again", BEGINNING + 2 * DAY)
    assert await known.known(root, 2) == [(READ, "read again"), (WRITE, "write")]

    send = ToolRef("mail", "send")
    await known.used(root, {READ: 1, send: 2}, BEGINNING + 3 * DAY)
    assert await known.known(root, 3) == [(READ, "read again"), (send, ""), (WRITE, "write")]


async def test_what_is_used_most_comes_first_and_counts_half_after_a_week(
    known: ToolUsageStore, root: Principal
) -> None:
    """What was only found does not, and a clock that was put back makes nothing count for more."""

    async def used(times: Mapping[ToolRef, int], weeks: int = 0) -> list[ToolRef]:
        await known.used(root, times, BEGINNING + 7 * weeks * DAY)
        return [*await known.most_used(root, 10)]

    await known.found(root, [LIST], "list", BEGINNING)
    assert await used({READ: 1, WRITE: 3}) == [WRITE, READ]
    assert await used({READ: 4}) == await used({}) == [READ, WRITE]
    assert await known.most_used(root, 1) == [READ]

    assert await used({READ: 5}) == [READ, WRITE]  # ten and three
    assert await used({WRITE: 3}, weeks=1) == [READ, WRITE]  # five and four and a half
    assert await used({LIST: 3}, weeks=2) == [LIST, READ, WRITE]
    assert await used({READ: 1}, weeks=2) == [READ, LIST, WRITE]
    assert await used({WRITE: 1}) == [READ, LIST, WRITE]


async def test_of_uses_that_are_told_at_once_none_is_lost(
    known: ToolUsageStore, root: Principal
) -> None:
    more, less = ToolRef("a", "more"), ToolRef("a", "less")
    async with asyncio.TaskGroup() as group:
        for order in ([READ, WRITE, LIST], [LIST, WRITE, READ]) * 5:
            times = dict.fromkeys(order, 1)
            group.create_task(known.used(root, times, BEGINNING))
            group.create_task(known.found(root, order, "q", BEGINNING))
    await known.used(root, {more: 11}, BEGINNING)
    await known.used(root, {less: 9}, BEGINNING)

    assert await known.most_used(root, 10) == [more, LIST, READ, WRITE, less]


async def test_each_knows_only_what_is_theirs(doors: Doors, root: Principal) -> None:
    known, bob = doors.acquaintances, as_principal(await doors.joined(root, "bob"))
    stranger, nobody = await doors.founded("acme"), a_person("nobody")
    await known.found(bob, [READ], "q", BEGINNING)
    await known.used(bob, {READ: 1}, BEGINNING)

    for other in (root, stranger):
        assert await known.known(other, 10) == []
        assert await known.most_used(other, 10) == []
    await known.used(root, {READ: 5}, BEGINNING)
    assert await known.known(bob, 10) == [(READ, "q")]
    with pytest.raises(REFUSED):
        await known.found(nobody, [READ], "q", BEGINNING)
    with pytest.raises(REFUSED):
        await known.used(nobody, {READ: 1}, BEGINNING)


def made(count: int, dimensions: int = 8, seed: int = 1) -> Made:
    numbers = np.random.default_rng(seed).standard_normal((count, dimensions), np.float32)
    return {f"key {row}": numbers[row] for row in range(count)}


def same(one: Made, other: Made) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)


async def test_vectors_come_back_to_the_last_bit(vectors: Vectors, root: Principal) -> None:
    for count, dimensions in ((5, 1), (5, 384), (5, 3072), (3_000, 8)):
        model, numbers = f"{dimensions}", made(count, dimensions)
        await vectors.put(root, model, numbers)

        found = await vectors.get(root, model, list(numbers))
        assert same(found, numbers)
        assert {vector.dtype for vector in found.values()} == {np.dtype(np.float32)}


async def test_what_was_made_once_by_a_model_stays_and_only_what_is_there_is_given(
    vectors: Vectors, root: Principal
) -> None:
    await vectors.put(root, "m", made(2))
    await vectors.put(root, "m", made(3, seed=2))
    await vectors.put(root, "m", {})
    await vectors.put(root, "n", made(1, seed=2))

    found = await vectors.get(root, "m", list(made(3)))
    assert same(found, {**made(3, seed=2), **made(2)})
    asked = await vectors.get(root, "m", ["key 1", "nobody's", "key 1"])
    assert same(asked, {"key 1": made(2)["key 1"]})
    assert await vectors.get(root, "m", []) == {}
    assert same(await vectors.get(root, "n", ["key 0"]), made(1, seed=2))
    assert await vectors.get(root, "o", ["key 0"]) == {}


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_vectors_of_another_space_do_not_exist(doors: Doors, root: Principal) -> None:
    vectors, acme = doors.vectors, await doors.founded("acme")
    await vectors.put(acme, "m", made(1))

    assert await vectors.get(root, "m", ["key 0"]) == {}
    await vectors.put(root, "m", made(1, seed=2))
    with pytest.raises(REFUSED):
        await vectors.put(a_person("stranger", space=a_space("nowhere")), "m", made(1))

    assert same(await vectors.get(acme, "m", ["key 0"]), made(1))
