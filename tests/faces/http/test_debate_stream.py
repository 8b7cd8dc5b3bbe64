"""What happens in a debate as server-sent events: all of it, or from where one left off."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest

from portico.debate.core.happening import Told as Heard
from portico.debate.core.happening import VoiceSpoke
from portico.engine.core.errors import BadCursor
from portico.faces.http.debate_stream import DebateTelling
from tests.faces.http.asgi import Header
from tests.faces.http.conftest import HOST, Site
from tests.faces.http.streaming import Stream, streaming
from tests.faces.http.test_debates import QUESTION, decided, ended, start


@pytest.fixture
async def held(site: Site) -> AsyncIterator[Site]:
    async with site.working():
        yield site


def follows(
    site: Site, debate: str, *more: Header, query: str = ""
) -> AbstractAsyncContextManager[Stream]:
    bearer = (b"authorization", f"Bearer {site.key}".encode())
    path = f"/api/v1/debates/{debate}/events"
    return streaming(site.app, path, [HOST, bearer, *more], query)


async def all_of(site: Site, debate: str, *more: Header, query: str = "") -> Stream:
    async with follows(site, debate, *more, query=query) as stream:
        await stream.until(lambda: stream.complete)
    return stream


async def test_each_voice_and_each_round_is_told_to_the_end(held: Site) -> None:
    held.debates.say("yes", "yes", "yes", "yes")
    debate = await decided(held)

    told = await all_of(held, debate["id"])

    assert told.names[0] == "round.began"
    assert told.names.count("voice.asked") == told.names.count("voice.answered") == 2
    assert "standing" in told.names
    assert told.names[-2:] == ["debate.ended", "end"]
    answered = next(each for each in told.events if each.event == "voice.answered")
    assert answered.data["answer"] == "yes"
    assert answered.data["money"] == "0"
    over = told.events[-2]
    assert over.data["decision"]["answer"] == "yes"


async def test_who_was_left_out_is_told_first(held: Site) -> None:
    held.debates.voices.voices["openai:gpt"].available = False
    debate = await decided(held)

    told = await all_of(held, debate["id"])

    assert told.names[0] == "skipped"
    assert told.events[0].data["what"] == "voice:openai:gpt"
    assert told.events[0].data["why"] == "It is switched off. Switch it on."


async def test_whoever_was_cut_off_goes_on_where_they_were(held: Site) -> None:
    debate = await decided(held)
    whole = await all_of(held, debate["id"])
    third = whole.events[2].id
    assert third is not None

    by_query = await all_of(held, debate["id"], query=f"after={third}")
    by_header = await all_of(
        held, debate["id"], (b"last-event-id", third.encode()), query="after=1"
    )

    assert by_query.events == by_header.events == whole.events[3:]


async def test_who_follows_from_the_beginning_hears_it_live(held: Site) -> None:
    debate = (await start(held, {**QUESTION, "guests": 1})).json

    async with follows(held, debate["id"]) as stream:
        await stream.until(lambda: "guests.wanted" in stream.names)
        await held.ask("POST", f"/api/v1/debates/{debate['id']}/stop")
        await ended(held, debate["id"])
        await stream.until(lambda: stream.complete)

    assert stream.names[-2:] == ["debate.ended", "end"]


def test_a_piece_of_an_answer_is_told_live_and_has_no_place_to_go_on_from() -> None:
    piece = VoiceSpoke(voice="a:b", round=1, text="half \ud800 of it")

    told = DebateTelling().told(Heard("", piece))

    assert told.startswith(b"event: voice.spoke\n")
    assert b"\\ud800" in told


def test_what_breaks_off_says_why() -> None:
    telling = DebateTelling()

    assert telling.broke(BadCursor()).startswith(b'event: error\ndata: {"code": "bad_cursor"')
    assert (telling.gave_up(), telling.waits) == (b"", False)
