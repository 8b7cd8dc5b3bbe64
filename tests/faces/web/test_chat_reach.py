"""How far chats reach: who sees which, how much at once, and what is held against what."""

import re
from dataclasses import replace
from typing import Any

import pytest

from portico.agents.core.message import ModelSaid, UserSaid
from portico.guard.core.roles import Role
from portico.kernel.ids import RunId
from portico.kernel.label import Level
from portico.testing.contexts import MemoryTaskContexts
from tests.faces.http.desk import Desk, opened
from tests.faces.web.chat_data import a_turn
from tests.faces.web.conftest import Browser
from tests.faces.web.somebody import somebody


@pytest.fixture
async def desk(console: Browser) -> Desk:
    return await opened(console.site)


async def begun(console: Browser, message: str = "Write to Bob.", **more: str) -> RunId:
    to = await console.does("/chat", {"agent": "clerk", "message": message, **more})
    return RunId.parse(to.removeprefix("/chat/"))


async def speaks(desk: Desk, run: RunId, text: str, number: int = 1, **changes: Any) -> None:
    turn = replace(a_turn(number, text), run=run, **changes)
    await desk.runs.traces.add_turn(desk.ana, turn)


async def test_another_ones_chat_is_not_there(console: Browser, desk: Desk) -> None:
    run = await begun(console, "Between us")
    ben = await somebody(console, "ben")

    for path in ("", "/foot", "/trace", "/turns/1", "/text/said-1", "/earlier"):
        assert (await ben.get(f"/chat/{run}{path}")).status == 404
    assert (await ben.post(f"/chat/{run}/say", {"message": "Hi."})).status == 404
    assert "Between us" not in await ben.sees("/chat")
    assert (await console.get("/chat/run_nothing")).status == 404


async def test_who_may_not_start_agents_is_not_offered_to(console: Browser, desk: Desk) -> None:
    viewer = await somebody(console, "vera", role=Role.VIEWER)

    text = await viewer.sees("/chat")

    assert "<textarea" not in text
    assert (await viewer.post("/chat", {"agent": "clerk", "message": "Hi."})).status == 403


async def test_agents_above_ones_clearance_are_not_offered(console: Browser, desk: Desk) -> None:
    low = await somebody(console, "lou", clearance="public")

    text = await low.sees("/chat")

    assert desk.clerk.spec.label.level > Level.PUBLIC
    assert "clerk" not in text
    assert "There is no agent yet." in text


async def test_what_is_read_in_a_chat_is_held_against_that_chat_alone(
    console: Browser, desk: Desk
) -> None:
    run = await begun(console)
    await speaks(desk, run, "A stranger's words.")
    await console.sees(f"/chat/{run}")
    await console.does(f"/chat/{run}/say", {"message": "Go on."})

    contexts = MemoryTaskContexts(desk.runs.traces._world)  # where they are kept
    tasks = {
        place: await contexts.get(replace(desk.ana, place=f"console {place}"))
        for place in (f"chat {run}", f"chat {run} said", "chat a-new-one", "agents")
    }

    assert [place for place, task in tasks.items() if task.untrusted] == [f"chat {run}"]
    assert {str(task.label) for place, task in tasks.items() if place != f"chat {run}"} == {
        "public"
    }


async def test_two_thousand_messages_come_in_pages(console: Browser, desk: Desk) -> None:
    history = tuple(
        message
        for number in range(1000)
        for message in (UserSaid(f"Question {number}."), ModelSaid(f"Answer {number}. " * 20))
    )
    run = await begun(console)
    world = desk.runs.traces._world  # as a client that keeps a talk itself begins it
    kept = world.agent_runs[desk.ana.space, run]
    world.agent_runs[desk.ana.space, run] = replace(kept, history=history)

    page = await console.sees(f"/chat/{run}")
    seen, parts = "", 0
    link = re.search(r'hx-get="([^"]+)"', page)
    while link is not None and parts < 3:
        part = (await console.get(link[1], part=True)).body.decode()
        assert len(part.encode()) < 50_000
        seen, parts = seen + part, parts + 1
        link = re.search(r'hx-get="([^"]+)"', part)

    assert "Answer 999." in page
    assert "Answer 900." not in page
    assert parts == 3
    assert "Question 980." in seen
    assert "Question 999." not in seen
    assert f"/chat/{run}?at=" in page


async def test_long_texts_are_a_link_away(console: Browser, desk: Desk) -> None:
    run = await begun(console)
    await speaks(desk, run, "a" * 30_000 + "the end")

    text = await console.sees(f"/chat/{run}")
    whole = await console.get(f"/chat/{run}/text/turn-1")

    assert "the end" not in text
    assert f"/chat/{run}/text/turn-1" in text
    assert whole.body.endswith(b"the end")
    assert whole.headers["content-type"].startswith("text/plain")


async def test_chats_are_found_by_what_was_said(console: Browser, desk: Desk) -> None:
    await begun(console, "About tides")
    await begun(console, "About stars")

    found = await console.sees("/chat?q=tides")
    none = await console.sees("/chat?q=nothing")
    rows = await console.get("/chat/rows", part=True)

    assert "About tides" in found
    assert "About stars" not in found
    assert "Nobody said that" in none
    assert b"About stars" in rows.body
