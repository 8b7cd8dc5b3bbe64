"""What is said in a chat while it is said: whole, in order, and nothing of it twice."""

from decimal import Decimal
from typing import Any

import pytest

from portico.agents.core.asking import Usage
from portico.agents.core.happening import (
    Happening,
    Heard,
    RunEnded,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    ToolEnded,
    TurnBegan,
)
from portico.agents.core.trace import AgentRunStatus
from portico.faces.web.talk import TalkTopic, Telling
from portico.kernel.ids import BadId, RunId
from tests.faces.http.desk import Desk, a_tool, opened, text
from tests.faces.http.streaming import Stream
from tests.faces.web.chat_data import RUN
from tests.faces.web.conftest import Browser
from tests.faces.web.somebody import somebody


@pytest.fixture
async def desk(console: Browser) -> Desk:
    return await opened(console.site)


async def begun(console: Browser) -> RunId:
    to = await console.does("/chat", {"agent": "clerk", "message": "Write to Bob."})
    return RunId.parse(to.removeprefix("/chat/"))


def told(stream: Stream) -> list[dict[str, Any]]:
    return [each.data for each in stream.messages if each.data]


async def test_all_that_happens_in_a_run_is_told_on_the_one_stream(
    console: Browser, desk: Desk
) -> None:
    run = await begun(console)
    await desk.tell(run, TurnBegan(turn=1, model="local:small"), text("I shall "))

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


async def test_a_stream_tells_of_runs_and_talks_beside_each_other(
    console: Browser, desk: Desk
) -> None:
    run = await begun(console)

    async with console.live("runs", f"talk:{run}@0") as stream:
        await stream.until(lambda: stream.status == 200)
        await desk.tell(run, text("Yes."))
        await stream.until(lambda: any(each["topic"] == f"talk:{run}" for each in told(stream)))
        await begun(console)
        await stream.until(lambda: any(each["topic"] == "runs" for each in told(stream)))


async def test_who_comes_again_is_told_all_that_it_lacks(console: Browser, desk: Desk) -> None:
    run = await begun(console)
    await desk.tell(run, text("One."), text("Two.", turn=2))

    texts: list[list[str]] = []
    for topic in (f"talk:{run}", f"talk:{run}", f"talk:{run}@1", f"talk:{run}@2"):
        async with console.live(topic) as stream:
            await desk.tell(run, Heard(number=len(texts) + 2, text="Go on."))
            await stream.until(lambda: any(each["facts"].get("number") for each in told(stream)))
        texts.append([each["facts"]["text"] for each in told(stream) if "turn" in each["facts"]])

    assert texts == [["One.", "Two."], ["One.", "Two."], ["Two."], []]


async def test_another_ones_talk_is_as_one_in_which_nothing_happens(
    console: Browser, desk: Desk
) -> None:
    run = await begun(console)
    await desk.tell(run, text("Between us."))
    ben = await somebody(console, "ben")

    async with ben.live("runs", f"talk:{run}") as stream:
        await stream.until(lambda: stream.status == 200)
        await begun(ben)
        await stream.until(lambda: bool(told(stream)))

    assert b"Between us." not in stream.body


@pytest.mark.parametrize(
    ("happening", "known", "lacks"),
    [
        (TurnBegan(turn=2, model="m"), 1, True),
        (TurnBegan(turn=1, model="m"), 1, False),
        (text("a", turn=1), 1, False),
        (text("a", turn=2), 1, True),
        (a_tool(), 1, True),
        (a_tool(), 2, False),
        (Heard(number=2, text="a"), 9, True),
    ],
)
def test_a_page_is_told_what_it_has_not_drawn(
    happening: Happening,
    known: int,
    lacks: bool,  # what is expected
) -> None:
    assert TalkTopic(RUN, known).lacks(happening) is lacks


def words(*pieces: TextAdded | ThoughtAdded) -> str:
    telling = Telling(TalkTopic(RUN))
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
    telling = Telling(TalkTopic(RUN))
    secret = ToolBegan(turn=1, call="c", tool="a.b", arguments={"key": "x" * 1000})
    ended = ToolEnded(turn=1, call="c", tool="a.b", text="y" * 1000, failed=False, seconds=1.0)

    told = telling.words(secret) + telling.words(ended)

    assert len(told) < 500
    assert b"a.b" in told


def test_half_letters_and_odd_line_ends_stay_in_one_line() -> None:
    told = words(text("a\u2028b\n\ud83d"))

    assert told.count("\n") == 2
    assert "\\u2028" in told


def test_a_topic_names_a_run_and_how_much_of_it_is_known() -> None:
    assert TalkTopic.parse(f"talk:{RUN}@12") == TalkTopic(RUN, 12)
    assert str(TalkTopic(RUN, 12)) == f"talk:{RUN}@12"
    assert TalkTopic.parse(f"talk:{RUN}@x").known == 0
    with pytest.raises(BadId):
        TalkTopic.parse("talk:nothing")


def test_the_end_of_a_run_is_told_without_its_answer() -> None:
    ended = RunEnded(
        run=RUN, status=AgentRunStatus.COMPLETED, answer="It is.", usage=Usage(), money=Decimal(0)
    )

    assert b"It is." not in Telling(TalkTopic(RUN)).words(ended)
