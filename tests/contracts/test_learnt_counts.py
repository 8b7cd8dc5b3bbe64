"""What the gateway may rely on of `LearntCounts`."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.learnt_count import Count, CountKey
from portico.gateway.core.server import ServerId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.gateway import a_server
from portico.testing.kernel import BEGINNING
from tests.contracts.doors import Doors

FILES, MAIL = a_server("files"), a_server("mail")
SECRET = Label(Level.TEAM, frozenset({"hr", "legal"}))


def key(*parts: object, kind: str = "next") -> CountKey:
    return CountKey.of(kind, json.dumps([str(part) for part in parts]))


def count(tried: int, hit: int = 0, *, at: float = 0) -> Count:
    return Count(tried, hit, BEGINNING + timedelta(seconds=at))


ONE, BOTH, NONE = key(FILES.id, "read"), key(FILES.id.value, MAIL.id, "größe"), key("words")


async def opened(doors: Doors, name: str = "home") -> Principal:
    root = await doors.founded(name)
    await doors.servers.add(root, FILES)
    await doors.servers.add(root, MAIL)
    return replace(root, clearance=SECRET)


async def known(doors: Doors, caller: Principal, label: Label = PUBLIC) -> dict[CountKey, Count]:
    return dict(await doors.counts.known(caller, label, 9))


async def test_what_is_counted_is_added_up(doors: Doors) -> None:
    root = await opened(doors)

    await doors.counts.learn(root, PUBLIC, {ONE: count(2, 1, at=9), NONE: count(1, at=1)})
    await doors.counts.learn(root, PUBLIC, {ONE: count(3, 2, at=5), BOTH: count(0)})
    await doors.counts.learn(root, PUBLIC, {})

    assert await known(doors, root) == {
        BOTH: count(0),
        NONE: count(1, at=1),
        ONE: count(5, 3, at=9),
    }


async def test_they_come_in_the_order_in_which_they_were_last_seen(doors: Doors) -> None:
    root = await opened(doors)
    other = key("words", kind="other")
    learnt = {ONE: count(1, at=3), BOTH: count(1, at=1), NONE: count(1, at=2), other: count(1)}

    await doors.counts.learn(root, PUBLIC, learnt)

    asked = [await doors.counts.known(root, PUBLIC, most) for most in (9, 2)]
    assert [[each for each, _ in found] for found in asked] == [
        [other, BOTH, NONE, ONE],
        [other, NONE, ONE],
    ]
    assert await doors.counts.known(root, PUBLIC, 9, ["other", "x"]) == [(other, count(1))]


async def test_the_same_key_of_two_kinds_is_two(doors: Doors) -> None:
    root = await opened(doors)
    other = replace(ONE, kind="other")

    await doors.counts.learn(root, PUBLIC, {ONE: count(1), other: count(2)})

    assert await known(doors, root) == {ONE: count(1), other: count(2)}


async def test_nobody_is_told_what_was_counted_above_their_clearance(doors: Doors) -> None:
    root = await opened(doors)
    below = replace(root, clearance=Label(Level.RESTRICTED, frozenset({"hr"})))

    await doors.counts.learn(root, SECRET, {ONE: count(1)})
    await doors.counts.learn(below, SECRET, {NONE: count(1)})
    await doors.counts.learn(below, PUBLIC, {NONE: count(2)})

    assert await doors.counts.labels(root) == [PUBLIC, SECRET]
    assert await doors.counts.labels(below) == [PUBLIC]
    assert await known(doors, root, SECRET) == {ONE: count(1)}
    assert await known(doors, below, SECRET) == {}
    assert await known(doors, root) == {NONE: count(2)}


async def test_what_does_not_fit_is_not_kept(doors: Doors) -> None:
    root = await opened(doors)
    unfit = [
        key("x" * 4_000),
        CountKey.of("next", ""),
        CountKey.of("", "1"),
        CountKey.of("k" * 33, "1"),
        CountKey.of("next", "\x00"),
        CountKey.of("next", "\ud800"),
    ]
    long = CountKey.of("k" * 32, "x" * 4_000)

    await doors.counts.learn(root, PUBLIC, dict.fromkeys([*unfit, long], count(1)))

    assert await known(doors, root) == {long: count(1)}


async def test_of_what_several_count_at_once_nothing_is_lost(doors: Doors) -> None:
    root = await opened(doors)

    async with asyncio.TaskGroup() as group:
        for keys in ([ONE, BOTH, NONE], [NONE, BOTH, ONE]) * 5:
            counted = dict.fromkeys(keys, count(2, 1))
            group.create_task(doors.counts.learn(root, PUBLIC, counted))

    assert await known(doors, root) == dict.fromkeys([ONE, BOTH, NONE], count(20, 10))


async def test_only_what_was_seen_last_of_each_kind_stays(doors: Doors) -> None:
    root = await opened(doors)
    other = replace(ONE, kind="other")
    learnt = {ONE: count(1, at=1), BOTH: count(1, at=2), other: count(1)}
    await doors.counts.learn(root, PUBLIC, learnt)
    await doors.counts.learn(root, SECRET, learnt)

    await doors.counts.trim(root, PUBLIC, 1)
    await doors.counts.trim(replace(root, clearance=PUBLIC), SECRET, 0)

    assert await known(doors, root) == {BOTH: count(1, at=2), other: count(1)}
    assert await known(doors, root, SECRET) == learnt


async def test_it_goes_with_any_server_that_it_names(doors: Doors) -> None:
    root = await opened(doors)
    await doors.counts.learn(root, SECRET, dict.fromkeys([ONE, BOTH, NONE], count(1)))

    await doors.servers.remove(replace(root, clearance=PUBLIC), MAIL.id)
    await doors.counts.learn(root, SECRET, {BOTH: count(1)})

    assert await known(doors, root, SECRET) == {ONE: count(1), NONE: count(1)}


async def test_each_space_counts_for_itself(doors: Doors) -> None:
    home, acme = await opened(doors), await opened(doors, "acme")
    nowhere = key(ServerId(home.space.value))

    await doors.counts.learn(home, PUBLIC, {ONE: count(1), nowhere: count(1)})
    await doors.servers.remove(acme, FILES.id)

    assert await known(doors, home) == {ONE: count(1)}
    assert await known(doors, acme) == {}
    assert await doors.counts.labels(acme) == []


@pytest.mark.requirement("guard:spaces:export")
async def test_an_export_has_the_counters_that_its_taker_may_know(doors: Doors) -> None:
    root = await opened(doors)
    await doors.counts.learn(root, SECRET, {ONE: count(7)})
    await doors.counts.learn(root, PUBLIC, {ONE: count(1), BOTH: count(2), NONE: count(3)})

    whole = await _exported(doors, root)
    below = await _exported(doors, replace(root, clearance=PUBLIC))
    await doors.servers.put(root, replace(MAIL, label=Label(Level.RESTRICTED)))

    assert whole == [(ONE.key, 1), (BOTH.key, 2), (NONE.key, 3), (ONE.key, 7)]
    assert below == [(ONE.key, 1), (BOTH.key, 2), (NONE.key, 3)]
    assert await _exported(doors, root) == [(ONE.key, 1), (NONE.key, 3), (ONE.key, 7)]


@pytest.mark.requirement("guard:spaces:delete")
async def test_a_space_takes_them_with_it(doors: Doors) -> None:
    root = await opened(doors)
    await doors.counts.learn(root, PUBLIC, {ONE: count(1), NONE: count(1)})

    await doors.spaces.delete(root)

    assert await _exported(doors, await opened(doors)) == []


async def _exported(doors: Doors, caller: Principal) -> list[tuple[object, object]]:
    found = [row async for row in doors.spaces.export(caller) if row.table == "learnt_count"]
    counted = [(row.values["key"], row.values["tried"]) for row in found]
    return sorted(counted, key=lambda item: str(item[1]))
