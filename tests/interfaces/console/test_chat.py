"""Chats in the console: begun, read, heard while they are said, gone on with, and approved in."""

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from portico.agents.core.events import (
    AgentEvent,
    InputReceived,
    ReasoningDelta,
    RunFinished,
    TextDelta,
    ToolCallFinished,
    ToolCallStarted,
    TurnStarted,
)
from portico.agents.core.model_requests import ToolCall, Usage
from portico.agents.core.traces import AgentRunStatus, WholeTrace
from portico.guard.core.approvals import Status, Waiter
from portico.interfaces.console.live import RunEventRenderer, RunEventTopic
from portico.kernel.ids import ApprovalId, InvalidId, RunId
from portico.testing.agent_data import TEAM
from portico.testing.guard import MemoryTaskContexts
from tests.interfaces.console.chat_data import RUN, a_turn, a_use
from tests.interfaces.console.conftest import Browser
from tests.interfaces.http.desk import Desk, a_tool, opened, text
from tests.interfaces.http.streaming import Stream
from tests.interfaces.http.test_approvals import agent, asks

HOSTILE = "<img src=x onerror=alert(1)>"
CALL = ToolCall("c1", "mail__send", {"to": "bob@else.example"})


@pytest.fixture
async def desk(console: Browser) -> Desk:
    return await opened(console.site)


async def begun(console: Browser, message: str = "Write to Bob.", **more: str) -> RunId:
    to = await console.does("/chat", {"agent": "clerk", "message": message, **more})
    return RunId.parse(to.removeprefix("/chat/"))


async def speaks(desk: Desk, run: RunId, text: str, number: int = 1, **changes: Any) -> None:
    turn = replace(a_turn(number, text), run=run, **changes)
    await desk.runs.traces.add_turn(desk.ana, turn)


async def asked_for(console: Browser, desk: Desk, run: RunId) -> ApprovalId:
    """The first call of the first turn waits for somebody."""
    await speaks(desk, run, "I shall write.", calls=(CALL,))
    _, bot = await agent(console.site)
    waiter = Waiter(run, "~approval:call-1-0:1", TEAM)
    asked = await asks(console.site, bot, waiter=waiter)
    await desk.runs.traces.mark(desk.ana, run, AgentRunStatus.WAITING, label=TEAM)
    return asked.id


async def test_without_chats_there_is_something_to_begin_with(console: Browser, desk: Desk) -> None:
    text = await console.sees("/chat?say=Hello%20%3Cb%3E")

    assert "No chats yet." in text
    assert "What can you do?" in text
    assert "Hello &lt;b&gt;</textarea>" in text
    assert desk.clerk.name in text


async def test_a_chat_is_begun_once_however_often_its_form_is_sent(
    console: Browser, desk: Desk
) -> None:
    first = await begun(console, once="a1b2")
    second = await begun(console, once="a1b2")

    assert first == second
    assert await desk.started() == [first]
    text = await console.sees(f"/chat/{first}")
    assert "Write to Bob." in text
    assert f'data-live="talk:{first}@0"' in text


async def test_what_is_wrong_with_a_message_is_said_beside_it(console: Browser, desk: Desk) -> None:
    empty = await console.post("/chat", {"agent": "clerk", "message": " "})
    nobody = await console.post("/chat", {"agent": "nobody", "message": "Kept words"})

    assert (empty.status, nobody.status) == (422, 404)
    assert b"must be filled in" in empty.body
    assert b"Kept words</textarea>" in nobody.body
    assert await desk.started() == []


async def test_what_an_agent_says_is_drawn_and_nothing_of_it_is_html(
    console: Browser, desk: Desk
) -> None:
    run = await begun(console)
    await speaks(desk, run, f"**Yes.** {HOSTILE}", thought=HOSTILE, calls=(CALL,), notes=(HOSTILE,))
    use = a_use(run=run, tool=HOSTILE, text=HOSTILE, arguments={HOSTILE: HOSTILE})
    await desk.runs.traces.add_use(desk.ana, use)

    text = await console.sees(f"/chat/{run}")

    assert "<strong>Yes.</strong>" in text
    assert "Thought about it" in text
    assert "<img" not in text


async def test_one_turn_is_drawn_by_itself(console: Browser, desk: Desk) -> None:
    run = await begun(console)
    await speaks(desk, run, "*Done.*")

    found = await console.get(f"/chat/{run}/turns/1", part=True)
    missing = await console.get(f"/chat/{run}/turns/2", part=True)

    assert b"<article" in found.body
    assert b"<em>Done.</em>" in found.body
    assert b"<html" not in found.body
    assert (missing.status, missing.body) == (204, b"")


async def test_a_run_that_is_on_is_told_something(console: Browser, desk: Desk) -> None:
    run = await begun(console)

    to = await console.does(f"/chat/{run}/say", {"message": "And to Eve.", "once": "c3"})
    part = await console.post(
        f"/chat/{run}/say", {"message": "And to Ben.", "once": "c4"}, (b"hx-request", b"true")
    )
    again = await console.does(f"/chat/{run}/say", {"message": "And to Eve.", "once": "c3"})

    assert to == again == f"/chat/{run}"
    assert b"read at its next turn" in part.body
    assert part.headers["hx-retarget"] == "#chat"
    assert [each.text for each in (await desk.trace(run)).said] == [
        "Write to Bob.",
        "And to Eve.",
        "And to Ben.",
    ]


async def test_after_the_answer_one_goes_on_in_another_run(console: Browser, desk: Desk) -> None:
    run = await begun(console)
    await speaks(desk, run, "It is written.")
    await desk.ends(run)

    to = await console.does(f"/chat/{run}/say", {"message": "And to Eve."})
    sent = await console.post(
        f"/chat/{run}/say", {"message": "And to Ben."}, (b"hx-request", b"true")
    )

    other = RunId.parse(to.removeprefix("/chat/"))
    assert (await desk.trace(other)).run.continues == run
    assert sent.headers["hx-redirect"].startswith("/chat/run_")
    text = await console.sees(to)
    assert text.index("It is written.") < text.rindex("And to Eve.</div>")
    listed = await console.sees("/chat")
    assert f'href="/chat/{run}"' not in listed
    assert f'href="{to}"' in listed


async def test_a_run_is_stopped(console: Browser, desk: Desk) -> None:
    run = await begun(console)

    to = await console.does(f"/chat/{run}/stop")
    await desk.ends(run, status=AgentRunStatus.STOPPED)
    late = await console.post(f"/chat/{run}/stop")

    assert to == f"/chat/{run}?done=stopped"
    assert await desk.runs.traces.stop_asked(desk.ana, run)
    assert late.status == 409


async def test_the_same_is_asked_again_or_something_else_in_its_place(
    console: Browser, desk: Desk
) -> None:
    run = await begun(console)
    await desk.ends(run)

    same = await console.does(f"/chat/{run}/again", {"once": "d5"})
    changed = await console.does(f"/chat/{run}/branch", {"message": "Write to Eve.", "once": "d6"})

    traces: list[WholeTrace] = [
        await desk.trace(RunId.parse(each.removeprefix("/chat/"))) for each in (same, changed)
    ]
    assert [each.said[0].text for each in traces] == ["Write to Bob.", "Write to Eve."]
    assert [each.run.continues for each in traces] == [None, None]


async def test_a_request_is_approved_in_the_chat(console: Browser, desk: Desk) -> None:
    run = await begun(console)
    approval = await asked_for(console, desk, run)

    text = await console.sees(f"/chat/{run}")
    answered = await console.post(
        f"/chat/{run}/approvals/{approval}",
        {"answer": "once", "turn": "1"},
        (b"hx-request", b"true"),
    )
    late = await console.post(f"/chat/{run}/approvals/{approval}", {"answer": "reject"})

    assert "Needs approval." in text
    assert re.search(r'<tr class="danger"><th scope="row">to</th>', text)
    for key in "axew":
        assert f'data-key="{key}"' in text
    assert answered.status == 200, answered.body
    assert b"Needs approval." not in answered.body
    assert late.status == 409
    found = await console.site.gateway.approvals.show_approval(desk.ana, approval)
    assert found.status is Status.APPROVED


async def test_nothing_but_the_exact_word_approves(console: Browser, desk: Desk) -> None:
    run = await begun(console)
    approval = await asked_for(console, desk, run)
    path = f"/chat/{run}/approvals/{approval}"

    for fields in ({}, {"answer": "yes"}, {"answer": ["once", "reject"]}):
        assert (await console.post(path, fields)).status == 422
    for typed in ("[1]", '{"to": "a", "to": "b"}', '{"a":' * 9_000):
        bad = await console.post(path, {"answer": "once", "arguments": typed})
        assert (bad.status, b"arguments" in bad.body) == (422, True)

    found = await console.site.gateway.approvals.show_approval(desk.ana, approval)
    assert found.status is Status.WAITING


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


def told(stream: Stream) -> list[dict[str, Any]]:
    return [each.data for each in stream.messages if each.data]


async def test_all_that_happens_in_a_run_is_told_on_the_one_stream(
    console: Browser, desk: Desk
) -> None:
    run = await begun(console)
    await desk.tell(run, TurnStarted(turn=1, model="local:small"), text("I shall "))

    async with console.live(f"talk:{run}") as stream:
        await stream.until(lambda: len(told(stream)) == 2)
        await desk.tell(run, text("write.", 8))
        await desk.ends(run)
        await stream.until(lambda: len(told(stream)) == 4)

    assert [each["type"] for each in told(stream)] == [
        "turn.began",
        "text.added",
        "text.added",
        "run.ended",
    ]
    assert {each["topic"] for each in told(stream)} == {f"talk:{run}"}
    assert "".join(each["facts"].get("text", "") for each in told(stream)) == "I shall write."


async def test_who_comes_again_is_told_all_that_it_lacks(console: Browser, desk: Desk) -> None:
    run = await begun(console)
    await desk.tell(run, text("One."), text("Two.", turn=2))

    texts: list[list[str]] = []
    for topic in (f"talk:{run}", f"talk:{run}", f"talk:{run}@1", f"talk:{run}@2"):
        async with console.live(topic) as stream:
            await desk.tell(run, InputReceived(number=len(texts) + 2, text="Go on."))
            await stream.until(lambda: any(each["facts"].get("number") for each in told(stream)))
        texts.append([each["facts"]["text"] for each in told(stream) if "turn" in each["facts"]])

    assert texts == [["One.", "Two."], ["One.", "Two."], ["Two."], []]


@pytest.mark.parametrize(
    ("happening", "known", "lacks"),
    [
        (TurnStarted(turn=2, model="m"), 1, True),
        (TurnStarted(turn=1, model="m"), 1, False),
        (text("a", turn=1), 1, False),
        (text("a", turn=2), 1, True),
        (a_tool(), 1, True),
        (a_tool(), 2, False),
        (InputReceived(number=2, text="a"), 9, True),
    ],
)
def test_a_page_is_told_what_it_has_not_drawn(
    happening: AgentEvent,
    known: int,
    lacks: bool,  # what is expected
) -> None:
    assert RunEventTopic(RUN, known).lacks(happening) is lacks


def words(*pieces: TextDelta | ReasoningDelta) -> str:
    telling = RunEventRenderer(RunEventTopic(RUN))
    return b"".join(telling.words(each) for each in pieces).decode()


def test_each_letter_is_told_once() -> None:
    told = words(text("One "), text("two "), text("One two ", 0), text("three", 8))

    assert told.count("One") == 1
    assert '"offset":4,"text":"two "' in words(text("One "), text("One two "))
    assert '"offset":8,"text":"three"' in told


def test_a_model_that_is_asked_anew_begins_anew() -> None:
    told = words(text("One"), text("Two", attempt=2), text("ne", 1))

    assert '"attempt":2,"offset":0,"text":"Two"' in told
    assert 'ne"' not in told.partition("Two")[2]


def test_what_the_page_asks_for_drawn_is_not_told() -> None:
    telling = RunEventRenderer(RunEventTopic(RUN))
    secret = ToolCallStarted(turn=1, call="c", tool="a.b", arguments={"key": "x" * 1000})
    ended = ToolCallFinished(
        turn=1, call="c", tool="a.b", text="y" * 1000, failed=False, seconds=1.0
    )

    told = telling.words(secret) + telling.words(ended)

    assert len(told) < 500
    assert b"a.b" in told


def test_half_letters_and_odd_line_ends_stay_in_one_line() -> None:
    told = words(text("a\u2028b\n\ud83d"))

    assert told.count("\n") == 2
    assert "\\u2028" in told


def test_a_topic_names_a_run_and_how_much_of_it_is_known() -> None:
    assert RunEventTopic.parse(f"talk:{RUN}@12") == RunEventTopic(RUN, 12)
    assert str(RunEventTopic(RUN, 12)) == f"talk:{RUN}@12"
    assert RunEventTopic.parse(f"talk:{RUN}@x").known == 0
    with pytest.raises(InvalidId):
        RunEventTopic.parse("talk:nothing")


def test_the_end_of_a_run_is_told_without_its_answer() -> None:
    ended = RunFinished(
        run=RUN, status=AgentRunStatus.COMPLETED, answer="It is.", usage=Usage(), money=Decimal(0)
    )

    assert b"It is." not in RunEventRenderer(RunEventTopic(RUN)).words(ended)
