"""From where a run or several topics are followed, and read."""

from dataclasses import replace

import pytest

from portico.adapters.seals.aes_siv import AesSivSeal
from portico.engine.core.errors import BadCursor, RunNotFound
from portico.engine.cursors import Cursors
from portico.engine.read_events import EventPage, ReadRunEvents
from portico.engine.watch import WatchRun, WatchTopics
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Scope
from portico.kernel.ids import RunId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.contexts import MemoryTaskContexts
from portico.testing.guard import a_person, a_space, an_identity
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.engine.watching import ANA, LOW, SEAL, SECRET, House, a_house

RUN = RunId.mint(BEGINNING, SeededEntropy("run"))
TOPIC = str(RUN)


def may(who: Principal, *scopes: Scope) -> Principal:
    return replace(who, scopes=frozenset(scopes))


def cursor(number: int) -> str:
    return Cursors.of(SEAL, ANA.space, [TOPIC]).text({TOPIC: number})


def watch_run(house: House) -> WatchRun:
    return WatchRun(log=house.log, seal=SEAL)


async def read(
    house: House, after: str | None = None, *, who: Principal = ANA, limit: int = 10
) -> EventPage:
    contexts = MemoryTaskContexts(house.world)
    reading = ReadRunEvents(log=house.log, seal=SEAL, contexts=contexts)
    return await reading(who, RUN, after, limit)


async def test_a_run_is_followed_from_its_beginning_or_from_where_one_left(house: House) -> None:
    await house.tell("run.started", "step.done", topic=TOPIC)

    assert await watch_run(house)(ANA, RUN, None) == {TOPIC: 0}
    assert await watch_run(house)(ANA, RUN, cursor(1)) == {TOPIC: 1}
    assert await watch_run(house)(ANA, RUN, cursor(2)) == {TOPIC: 2}


@pytest.mark.parametrize("last", ["run.done", "run.failed", "run.cancelled", "run.stuck"])
async def test_whoever_has_had_the_last_of_a_run_has_nothing_to_follow(last: str) -> None:
    house = a_house()
    await house.tell("run.started", last, topic=TOPIC)

    assert await watch_run(house)(ANA, RUN, cursor(2)) is None
    assert await watch_run(house)(ANA, RUN, cursor(1)) == {TOPIC: 1}
    assert await watch_run(house)(ANA, RUN, None) == {TOPIC: 0}


async def test_a_run_that_was_taken_up_again_goes_on(house: House) -> None:
    await house.tell("run.started", "run.failed", "run.resumed", topic=TOPIC)

    assert await watch_run(house)(ANA, RUN, cursor(2)) == {TOPIC: 2}


@pytest.mark.requirement("engine:events:labels")
async def test_a_run_that_is_not_there_or_above_the_caller_is_not_found(house: House) -> None:
    await house.tell("run.started", topic=TOPIC, label=SECRET)
    above = replace(house.world.streams[ANA.space, TOPIC], label=SECRET)
    house.world.streams[ANA.space, TOPIC] = above
    low = may(LOW, Scope.RUNS_READ)

    with pytest.raises(RunNotFound):
        await watch_run(house)(low, RUN, None)
    with pytest.raises(RunNotFound):
        await read(house, who=low)
    with pytest.raises(RunNotFound):
        await watch_run(a_house())(ANA, RUN, None)


async def test_whoever_watches_is_asked_again_for_the_scope_and_for_the_run(house: House) -> None:
    await house.tell("run.started", topic=TOPIC)
    watch = watch_run(house)

    await watch.again(RUN, ANA, ANA.clearance)
    await watch.again(RUN, may(LOW, Scope.RUNS_READ), ANA.clearance)
    with pytest.raises(NotPermitted):
        await watch.again(RUN, may(ANA), ANA.clearance)
    del house.world.streams[ANA.space, TOPIC]
    with pytest.raises(RunNotFound):
        await watch.again(RUN, may(LOW, Scope.RUNS_READ), ANA.clearance)


async def test_topics_are_followed_by_those_who_may() -> None:
    watch = WatchTopics(seal=SEAL)
    here = Cursors.of(SEAL, ANA.space, ["a", "b"]).text({"a": 3, "b": 5})

    assert watch(ANA, ["a", "b"], None) == {"a": 0, "b": 0}
    assert watch(ANA, ["b", "a"], here) == {"a": 3, "b": 5}
    with pytest.raises(NotPermitted):
        watch(may(ANA), ["a"], None)
    with pytest.raises(NotPermitted):
        await watch.again(may(ANA), PUBLIC)
    await watch.again(ANA, PUBLIC)


@pytest.mark.requirement("engine:events:cursors")
async def test_nothing_ever_happens_in_a_private_topic_that_is_watched_by_its_name() -> None:
    watch = WatchTopics(seal=SEAL)
    listens = may(ANA, Scope.EVENTS_READ)
    here = Cursors.of(SEAL, ANA.space, ["runs"]).text({"runs": 3})

    assert watch(listens, ["runs", f"~talk:{RUN}"], None) == {"runs": 0}
    assert watch(listens, ["runs", f"~talk:{RUN}"], here) == {"runs": 3}
    assert watch(listens, [f"~talk:{RUN}"], None) == {}


def test_a_cursor_of_elsewhere_is_refused() -> None:
    watch = WatchTopics(seal=SEAL)
    mine = Cursors.of(SEAL, ANA.space, ["a", "b"]).text({"a": 3, "b": 5})
    stranger = a_person("ana", space=a_space("acme"))
    other_house = WatchTopics(seal=AesSivSeal.from_pepper(b"another"))

    for asked, who, topics, text in [
        (watch, ANA, ["a"], mine),
        (watch, ANA, ["a", "c"], mine),
        (watch, stranger, ["a", "b"], mine),
        (other_house, ANA, ["a", "b"], mine),
        (watch, ANA, ["a", "b"], mine[:-1]),
        (watch, ANA, ["a", "b"], mine[:-2] + "zz"),
        (watch, ANA, ["a", "b"], "é"),
        (watch, ANA, ["a", "b"], "!"),
        (watch, ANA, ["a", "b"], "MTI"),
    ]:
        with pytest.raises(BadCursor):
            asked(who, topics, text)


async def test_pages_follow_one_another_to_the_end_of_the_run(house: House) -> None:
    await house.tell("run.started", "a.b", "c.d", "run.done", topic=TOPIC)

    first = await read(house, limit=2)
    second = await read(house, first.next, limit=2)
    after = await read(house, cursor(4))

    assert [entry.type for entry in first.entries] == ["run.started", "a.b"]
    assert [entry.type for entry in second.entries] == ["c.d", "run.done"]
    assert (await read(house, second.next or cursor(4))).entries == []
    assert (after.entries, after.next) == ([], None)


async def test_while_a_run_goes_on_there_is_always_a_next_page(house: House) -> None:
    await house.tell("run.started", topic=TOPIC)

    page = await read(house)
    empty = await read(house, page.next)
    await house.tell("run.failed", "run.resumed", topic=TOPIC)
    more = await read(house, empty.next)

    assert (empty.entries, empty.next) == ([], page.next)
    assert [entry.type for entry in more.entries] == ["run.failed", "run.resumed"]
    assert more.next is not None


@pytest.mark.requirement("engine:events:labels")
async def test_a_page_tells_nothing_of_what_is_hidden_not_even_by_its_cursor(house: House) -> None:
    low = may(LOW, Scope.RUNS_READ)
    await house.tell("run.started", topic=TOPIC)
    page = await read(house, who=low)

    await house.tell("secret", topic=TOPIC, label=SECRET)

    assert await read(house, page.next, who=low) == replace(page, entries=[])
    assert await read(house, None, who=low, limit=1) == page


@pytest.mark.requirement("engine:events:reset")
async def test_a_page_says_that_where_one_stood_is_gone(house: House) -> None:
    await house.tell("run.started", "a.b", "c.d", "e.f", topic=TOPIC)
    house.log.trim(ANA.space, TOPIC, 3)

    behind = await read(house, cursor(1), limit=1)
    within = await read(house, cursor(3))
    new = await read(house)

    assert ([entry.type for entry in behind.entries], behind.trimmed) == (["c.d"], True)
    assert ([entry.type for entry in within.entries], within.trimmed) == (["e.f"], False)
    assert ([entry.type for entry in new.entries], new.trimmed) == (["c.d", "e.f"], False)


async def test_pages_are_for_those_who_may() -> None:
    with pytest.raises(NotPermitted):
        await read(a_house(), who=may(ANA))


async def test_a_program_that_reads_events_has_read_as_much_as_they_hold(house: House) -> None:
    house.world.identities.insert((ANA.space, ANA.id), an_identity("ana"))
    await house.tell("run.started", topic=TOPIC, label=Label(Level.TEAM))
    program = replace(ANA, kind=PrincipalKind.AGENT)

    await read(house, who=program)

    task = await MemoryTaskContexts(house.world).get(program)
    assert (task.label, task.untrusted) == (Label(Level.TEAM), True)
