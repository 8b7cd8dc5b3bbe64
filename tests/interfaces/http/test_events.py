"""Events over HTTP as their readers see them."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import pytest
from dirty_equals import IsStr
from inline_snapshot import snapshot

from portico.engine.core.event_log import NewEntry
from portico.interfaces.http.streaming import Manners
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.engine import MemoryEventLog
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.interfaces.http.asgi import Answer, Header, bearing
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.streaming import PATIENCE, Stream, streaming

pytestmark = pytest.mark.usefixtures("nothing_blocks")

RUN = str(RunId.mint(BEGINNING, SeededEntropy("a run")))
PATH = f"/api/v1/runs/{RUN}/events"
TOPICS = "/api/v1/events"
SECRET = Label(Level.RESTRICTED)
LIVELY = Manners(heartbeat=0.02, wait_timeout=60.0)


@dataclass(frozen=True)
class Newsroom:
    """The site, with a pen for its log, and manners in which a test need not wait."""

    site: Site
    root: Principal
    log: MemoryEventLog
    manners: Manners

    async def tell(
        self,
        *types: str,
        topic: str = RUN,
        label: Label = PUBLIC,
        facts: JsonObject | None = None,
        topic_label: Label = PUBLIC,
    ) -> None:
        entries = [
            NewEntry(
                topic=topic, type=each, label=label, details=facts or {}, topic_label=topic_label
            )
            for each in types
        ]
        await self.log.append(self.root, entries)

    def watching(
        self,
        path: str = PATH,
        *headers: Header,
        query: str = "",
        key: str | None = None,
        manners: Manners | None = None,
        lined: bool = True,
    ) -> AbstractAsyncContextManager[Stream]:
        app = self.site.rebuilt(manners=manners or self.manners)
        shown = [*bearing(key or self.site.key), *headers]
        return streaming(app, path, shown, query, lined=lined)

    async def page(self, query: str = "", key: str | None = None) -> Answer:
        json_please = (b"accept", b"application/json")
        return await self.site.ask("GET", PATH, key=key, headers=(json_please,), query=query)

    async def a_key(self, clearance: str) -> dict[str, str]:
        wish = {"name": clearance, "clearance": clearance}
        made: dict[str, str] = (await self.site.ask("POST", "/api/v1/keys", wish)).json
        return made

    async def bo(self) -> tuple[str, str]:
        """The key of somebody who is cleared for all, and where they can be changed."""
        who = {"kind": "agent", "name": "bo", "clearance": "restricted"}
        added = (await self.site.ask("POST", "/api/v1/principals", who)).json["id"]
        made = await self.site.ask("POST", "/api/v1/keys", {"name": "k", "principal": added})
        return made.json["key"], f"/api/v1/principals/{added}"


@pytest.fixture
async def news(site: Site) -> AsyncIterator[Newsroom]:
    root = (await site.use.authenticate(site.key)).principal
    log = site.use.watch_run.log
    assert isinstance(log, MemoryEventLog)
    yield Newsroom(site, root, log, Manners(heartbeat=60.0, wait_timeout=60.0))
    assert site.use.tails.size == (0, 0)


def last_event_id(cursor: str | None) -> Header:
    return (b"last-event-id", (cursor or "").encode())


@pytest.mark.requirement("http:events:sse")
async def test_a_run_is_watched_from_its_beginning_to_its_end(news: Newsroom) -> None:
    await news.tell("run.started", facts={"n": 1})

    async with news.watching() as stream:
        await stream.takes(1)
        await news.tell("step.done", "run.done")
        await stream.until(lambda: stream.complete)

    assert stream.status == 200
    assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert stream.headers["x-accel-buffering"] == "no"
    assert stream.headers["cache-control"] == "no-store"
    assert "content-length" not in stream.headers
    assert stream.body.startswith(b"retry: ")
    assert stream.names == ["run.started", "step.done", "run.done", "end"]
    assert stream.events[-1].id is None
    assert stream.events[0].data == snapshot(
        {
            "topic": IsStr(regex="run_[0-9a-z]{26}"),
            "type": "run.started",
            "at": IsStr(regex=r"2026-01-01T00:00:\d\dZ"),
            "by": IsStr(regex="prn_[0-9a-z]{26}"),
            "label": "public",
            "facts": {"n": 1},
        }
    )


@pytest.mark.requirement("http:events:resume")
async def test_by_its_id_one_goes_on_after_an_event(news: Newsroom) -> None:
    await news.tell("a.a", "b.b", "c.c")
    async with news.watching() as stream:
        ids = [event.id for event in await stream.takes(3)]

    async with (
        news.watching(PATH, last_event_id(ids[1])) as by_header,
        news.watching(query=f"after={ids[0]}") as by_query,
        news.watching(PATH, last_event_id(ids[1]), query=f"after={ids[0]}") as by_both,
        news.watching(PATH, last_event_id("")) as by_nothing,
    ):
        await by_header.takes(1)
        await by_query.takes(2)
        await by_both.takes(1)
        await by_nothing.takes(3)

    assert by_header.names == by_both.names == ["c.c"]
    assert by_query.names == ["b.b", "c.c"]
    assert len({*ids}) == 3


@pytest.mark.requirement("http:events:resume")
async def test_coming_again_after_the_end_is_answered_by_nothing(news: Newsroom) -> None:
    await news.tell("run.started", "run.done")
    async with news.watching() as stream:
        await stream.until(lambda: stream.complete)

    async with news.watching(PATH, last_event_id(stream.events[1].id)) as again:
        await again.until(lambda: again.complete)

    assert (again.status, again.body) == (204, b"")


@pytest.mark.requirement("http:events:reset")
async def test_who_left_before_what_is_kept_is_told_to_begin_anew(news: Newsroom) -> None:
    await news.tell("a.a", "b.b", "c.c")
    async with news.watching() as stream:
        ids = [event.id for event in await stream.takes(3)]
    news.log.trim(news.root.space, RUN, 3)

    async with news.watching(PATH, last_event_id(ids[0])) as again:
        await again.takes(2)

    assert again.names == ["reset", "c.c"]
    assert (again.events[0].id, again.events[0].data) == (None, {"topic": RUN})


@pytest.mark.requirement("http:events:sse")
async def test_several_topics_are_one_stream_with_one_cursor(news: Newsroom) -> None:
    query = f"topics=runs,{RUN},nothing.yet,runs"
    await news.tell("a.a")
    async with news.watching(TOPICS, query=query) as stream:
        await stream.takes(1)
        await news.tell("b.b", topic="runs")
        await stream.takes(2)
        await news.tell("run.done")
        events = await stream.takes(3)
        assert not stream.complete

    async with news.watching(TOPICS, last_event_id(events[1].id), query=query) as again:
        await again.takes(1)

    assert stream.names == ["a.a", "b.b", "run.done"]
    assert [event.data["topic"] for event in events] == [RUN, "runs", RUN]
    assert again.names == ["run.done"]


@pytest.mark.requirement("engine:events:labels")
async def test_what_is_above_a_key_is_not_in_its_stream(news: Newsroom) -> None:
    key = (await news.a_key("team"))["key"]
    await news.tell("a.a")
    await news.tell("secret.a", label=SECRET)
    await news.tell("run.done")

    async with news.watching(key=key) as low, news.watching() as high:
        await low.until(lambda: low.complete)
        await high.until(lambda: high.complete)

    assert low.names == ["a.a", "run.done", "end"]
    assert high.names == ["a.a", "secret.a", "run.done", "end"]


@pytest.mark.requirement("engine:events:labels")
async def test_a_run_above_a_key_is_not_found_and_neither_is_one_that_is_not_there(
    news: Newsroom,
) -> None:
    key = (await news.a_key("team"))["key"]
    missing = await news.site.ask("GET", PATH, key=key)
    await news.tell("a.a", topic_label=SECRET, label=SECRET)

    hidden = await news.site.ask("GET", PATH, key=key)

    assert (hidden.status, hidden.json["code"]) == (404, "run_not_found")
    assert missing.json == hidden.json


@pytest.mark.requirement("http:events:sse")
async def test_two_hundred_topics_can_be_watched_and_resumed_by_a_header(news: Newsroom) -> None:
    query = f"topics={','.join(f'topic-{number}' for number in range(200))}"
    async with news.watching(TOPICS, query=query) as stream:
        await news.tell("a.a", topic="topic-7")
        await news.tell("b.b", topic="topic-99")
        events = await stream.takes(2)

    cursor = events[0].id or ""
    async with news.watching(TOPICS, last_event_id(cursor), query=query) as again:
        await again.takes(1)

    assert len(cursor) < 2500
    assert set(stream.names) == {"a.a", "b.b"}
    assert again.names == stream.names[1:]


@pytest.mark.requirement("http:events:sse")
async def test_a_stream_says_now_and_then_that_it_is_still_there(news: Newsroom) -> None:
    await news.tell("a.a")

    async with news.watching(manners=LIVELY) as stream:
        await stream.until(lambda: stream.body.count(b":\n\n") >= 3)

    assert stream.names == ["a.a"]


@pytest.mark.requirement("http:events:asked-again")
async def test_a_stream_ends_when_its_key_is_revoked(news: Newsroom) -> None:
    made = await news.a_key("team")
    await news.tell("a.a")

    async with news.watching(key=made["key"], manners=LIVELY) as stream:
        await stream.takes(1)
        await news.site.ask("DELETE", f"/api/v1/keys/{made['id']}")
        await stream.until(lambda: stream.complete)

    assert stream.names == ["a.a"]


@pytest.mark.requirement("http:events:asked-again")
async def test_a_stream_shows_less_once_the_clearance_is_lowered(news: Newsroom) -> None:
    key, path = await news.bo()
    await news.tell("a.a")

    async with news.watching(key=key, manners=LIVELY) as stream:
        await news.tell("secret.a", label=SECRET)
        await stream.takes(2)
        changed = await news.site.ask("PATCH", path, {"clearance": "team"})
        beats = stream.body.count(b":\n\n")
        await stream.until(lambda: stream.body.count(b":\n\n") > beats + 2)
        await news.tell("secret.b", label=SECRET)
        await news.tell("b.b")
        await stream.takes(3)

    assert changed.status == 200
    assert stream.names == ["a.a", "secret.a", "b.b"]


@pytest.mark.requirement("http:events:asked-again")
async def test_a_stream_ends_once_its_run_is_above_the_reader(news: Newsroom) -> None:
    key, path = await news.bo()
    await news.tell("a.a", topic_label=SECRET)

    async with news.watching(key=key, manners=LIVELY) as stream:
        await stream.takes(1)
        await news.site.ask("PATCH", path, {"clearance": "team"})
        await stream.until(lambda: stream.complete)

    assert stream.names == ["a.a"]


@pytest.mark.requirement("http:events:slow-clients")
@pytest.mark.parametrize("lined", [True, False])
async def test_a_client_that_does_not_read_is_let_go_and_can_come_again(
    news: Newsroom, lined: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "portico.http")
    await news.tell("a.a")
    manners = Manners(heartbeat=60.0, wait_timeout=0.05)

    async with news.watching(manners=manners, lined=lined) as stream:
        [first] = await stream.takes(1)
        stream.reads.clear()
        await news.tell("b.b")
        async with asyncio.timeout(PATIENCE):
            while news.site.use.tails.size != (0, 0):  # noqa: ASYNC110 # it tells nobody
                await asyncio.sleep(0.01)
    async with news.watching(PATH, last_event_id(first.id)) as again:
        await again.takes(1)

    assert "did not read" in caplog.text
    assert again.names == ["b.b"]


@pytest.mark.requirement("http:events:shutdown")
async def test_when_the_server_ends_so_do_its_streams_at_once(news: Newsroom) -> None:
    await news.tell("a.a")

    async with news.watching() as stream:
        await stream.takes(1)
        stream.line.end()
        await stream.until(lambda: stream.complete)

    assert stream.names == ["a.a"]


@pytest.mark.requirement("http:events:shutdown")
async def test_a_stream_that_begins_while_the_server_ends_ends_at_once(news: Newsroom) -> None:
    await news.tell("a.a")

    async with news.watching() as stream:
        stream.line.end()
        await stream.until(lambda: stream.complete)

    assert stream.names == []


@pytest.mark.requirement("engine:events:no-leak")
async def test_a_client_that_leaves_at_any_time_leaves_nothing_behind(news: Newsroom) -> None:
    await news.tell("a.a")
    tasks = len(asyncio.all_tasks())

    for delay in range(30):
        async with news.watching() as stream:
            for _ in range(delay):
                await asyncio.sleep(0)
        assert stream.complete or not stream.body or stream.status == 200

    assert news.site.use.tails.size == (0, 0)
    assert len(asyncio.all_tasks()) == tasks


async def test_a_type_cannot_break_out_of_its_line(news: Newsroom) -> None:
    await news.tell("a\ndata: evil\r\nid: 1", facts={"text": "two\nlines\u2028\ud800"})

    async with news.watching() as stream:
        [event] = await stream.takes(1)

    assert event.event == "a_data:_evil__id:_1"
    assert event.data["facts"] == {"text": "two\nlines\u2028\ud800"}


@pytest.mark.requirement("http:events:page")
async def test_the_same_events_can_be_had_page_by_page(news: Newsroom) -> None:
    await news.tell("run.started", "a.a", "run.done")

    first = (await news.page("limit=2")).json
    second = (await news.page(f"limit=2&after={first['next']}")).json
    async with news.watching(query=f"after={first['next']}") as stream:
        await stream.takes(2)

    assert [event["type"] for event in first["data"]] == ["run.started", "a.a"]
    assert [event["type"] for event in second["data"]] == ["run.done"]
    assert (second["next"], second["reset"]) == (None, False)
    assert stream.events[0].data == second["data"][0]
