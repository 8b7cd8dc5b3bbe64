"""Debates in the console: asked, followed, decided, marked and decided anew."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.interfaces.console.bridge_scene import words
from tests.interfaces.console.conftest import Browser, somebody
from tests.interfaces.http.asgi import Header
from tests.interfaces.http.test_debates import WAIT, decided, ended, got, start

HTMX: Header = (b"hx-request", b"true")


SECRET = "kingfisher"


@pytest.fixture
async def held(console: Browser) -> AsyncIterator[Browser]:
    """With debates carried out."""
    async with console.site.working():
        yield console


async def one(held: Browser, *answers: str, **wish: Any) -> str:
    """That is over: where it is."""
    held.site.debates.say(*(answers or ("yes", "yes", "no", "yes")))
    debate = await decided(held.site, **wish)
    return f"/debates/{debate['id']}"


async def test_a_debate_is_started_once_and_leads_to_its_page(held: Browser) -> None:
    form = {"question": "Is the heron a bird?", "thoroughness": "0.3", "once": "d1"}

    first = await held.does("/debates/new", form)
    again = await held.does("/debates/new", form)
    debate = await ended(held.site, first.removeprefix("/debates/"))

    assert first == again
    assert debate.rules.thoroughness == 0.3
    text = words(await held.sees(first))
    assert "Is the heron a bird?" in text
    assert "Round 1" in text


async def test_all_that_the_form_has_arrives(held: Browser) -> None:
    form = {
        "question": "Which is it?",
        "choices": "a bird\n\na fish",
        "preset": "vote",
        "thoroughness": "1",
        "voices": ["openai:gpt", "meta:llama"],
        "roles": ["critic"],
        "tokens": "50000",
        "money": "1.50",
        "minutes": "15",
        "material": "It has feathers.",
        "label": "team",
    }

    at = await held.does("/debates/new", form)

    its = (await got(held.site, "GET", f"{at}"))["debate"]
    assert its["question"]["choices"] == ["a bird", "a fish"]
    assert [each["target"] for each in its["voices"]] == ["openai:gpt", "meta:llama"]
    assert its["voices"][0]["personas"] == ["critic"]
    assert (its["cap"]["tokens"], its["label"]) == (50000, "team")
    assert its["cap"]["money"] is not None, "tokens alone must not lift the limit in money"


async def test_what_makes_no_sense_is_refused_and_stays_in_the_form(held: Browser) -> None:
    form = {"question": "Which is it?", "choices": "one\none", "thoroughness": "0.5"}

    answer = await held.post("/debates/new", form)
    odd = await held.post("/debates/new", {**form, "choices": "", "thoroughness": "7"})

    assert answer.status == 422
    assert "are the same" in words(answer.body.decode())
    assert b">Which is it?</textarea>" in answer.body
    assert odd.status == 422


async def test_the_form_tells_what_it_would_cost(held: Browser) -> None:
    told = await held.post(
        "/debates/estimate", {"question": "Is the heron a bird?", "thoroughness": "1"}, HTMX
    )
    empty = await held.post("/debates/estimate", {"question": " "}, HTMX)

    text = words(told.body.decode())
    assert "Calls" in text
    assert "at most" in text
    assert "openai:gpt" in text
    assert (empty.status, "There is no question." in empty.body.decode()) == (200, True)


async def test_a_debate_shows_its_answer_its_voices_and_who_dissents(held: Browser) -> None:
    at = await one(held, preset="debate", thoroughness=1.0)

    text = words(await held.sees(at))

    assert "Decided: yes (" in text
    assert "Round 2 after reading the others" in text
    assert "Dissent no" in text
    assert "nothing is spent" in text


async def test_while_it_goes_on_the_page_listens(held: Browser) -> None:
    answer = await start(held.site, {"question": "Is it?", "guests": 1})
    at = f"/debates/{answer.json['id']}"

    page = await held.sees(at)
    listed = await held.sees("/debates")

    assert f'data-live="{answer.json["id"]}"' in page
    assert f'data-from="{at}/board"' in page
    assert "Not heard yet" in page or "Confidence" in page or "did not say" in page
    assert f'data-live="runs {answer.json["id"]}"' in listed


async def test_a_page_is_told_what_happens_in_a_debate(held: Browser) -> None:
    answer = await start(held.site, {"question": "Is it?"})

    async with held.live(answer.json["id"]) as stream:
        await stream.until(lambda: any(each.data for each in stream.messages))

    told = [each.data for each in stream.messages if each.data]
    assert {each["topic"] for each in told} == {answer.json["id"]}


async def test_no_decision_is_said_as_an_answer(held: Browser) -> None:
    at = await one(
        held, "yes", "no", "yes", "no", voices=["openai:gpt", "anthropic:claude"], preset="vote"
    )

    text = words(await held.sees(at))
    listed = words(await held.sees("/debates?state=no_decision"))

    assert "No decision No decision: " in text
    assert "no decision No decision: " in listed
    assert "It was right" not in text


async def test_how_it_turned_out_is_said_and_the_last_word_counts(held: Browser) -> None:
    at = await one(held)

    await held.does(at, {"do": "outcome", "way": "right", "note": "Looked it up."})
    right = words(await held.sees(at))
    await held.does(at, {"do": "outcome", "way": "answer", "answer": "no"})
    nothing = await held.post(at, {"do": "outcome", "way": "answer"})

    assert "It turned out right." in right
    assert "It turned out that no is right." in words(await held.sees(at))
    assert nothing.status == 422


async def test_it_is_decided_anew_beside_what_was_decided(held: Browser) -> None:
    at = await one(held)

    part = await held.get(f"{at}/replay?preset=quorum&thoroughness=0.5", part=True)
    page = await held.sees(f"{at}/replay?preset=vote&without=openai:gpt")
    odd = await held.get(f"{at}/replay?without=nobody", part=True)

    assert "Then yes" in words(part.body.decode())
    assert "Now" in words(part.body.decode())
    assert "Then yes" in words(page)
    assert odd.status == 422


async def test_a_debate_is_stopped_and_then_removed(held: Browser) -> None:
    answer = await start(held.site, {"question": "Is it?", "guests": 1})
    at = f"/debates/{answer.json['id']}"

    told = await held.does(at, {"do": "stop"})
    await ended(held.site, answer.json["id"])
    again = await held.post(at, {"do": "stop"})
    gone = await held.does(at, {"do": "remove"})

    assert told == f"{at}?done=stopped"
    assert again.status == 409
    assert gone.startswith("/debates?")
    assert (await held.get(at)).status == 404


async def test_it_is_shared_with_its_project_and_asked_to_be_less_secret(held: Browser) -> None:
    project = await got(held.site, "POST", "/projects", {"name": "heron", "label": "team"})
    at = await one(held, project=project["id"])
    before = await held.sees(at)

    await held.does(at, {"do": "share"})
    asked = await held.does(at, {"do": "promote", "to": "public"})

    assert "for you alone" in before
    after = words(await held.sees(asked))
    assert "shared with its project" in after
    assert "it waits under Approvals" in after
    assert f'href="/bridge/{project["id"]}"' in before


async def test_a_guest_takes_a_seat_and_answers(held: Browser) -> None:
    answer = await start(held.site, {"question": "Is it?", "guests": 1, "kind": "yes_no"})
    at = f"/debates/{answer.json['id']}"
    assert "Take a seat" in await held.sees(at)

    await held.does(f"{at}/seat", {"do": "join"})
    await held.site.ask("POST", f"/api/v1{at}/join", headers=(WAIT,))
    page = await held.sees(at)
    refused = await held.post(f"{at}/seat", {"do": "answer", "answer": "perhaps"})
    await held.does(f"{at}/seat", {"do": "answer", "answer": "yes", "confidence": "0.9"})

    assert "Your seat as guest:ana" in words(page)
    assert "g-answer" in page
    assert refused.status == 422
    assert "is none of the choices" in words(refused.body.decode())
    debate = await ended(held.site, answer.json["id"])
    assert "guest:ana" in [each.name for each in debate.debaters]


async def test_a_conversation_becomes_a_question_that_is_as_secret(held: Browser) -> None:
    project = await got(held.site, "POST", "/projects", {"name": "heron", "label": "team"})
    talk = {"project": project["id"], "title": "Where to nest?", "label": "confidential"}
    its = (await got(held.site, "POST", "/conversations", talk))["id"]

    page = await held.sees(f"/debates/new?conversation={its}")
    form = {"question": "Where to nest?", "conversation": its, "label": "team", "guests": "1"}
    at = await held.does("/debates/new", form)

    assert ">Where to nest?</textarea>" in page
    assert f'value="{project["id"]}" selected' in page
    assert '<option value="team"' not in page.split('id="label"')[1].split("</select>")[0]
    assert (await got(held.site, "GET", at))["debate"]["label"] == "confidential"


async def test_lists_are_filtered_and_the_log_is_a_text(held: Browser) -> None:
    at = await one(held)

    log = await held.get(f"{at}/log")

    assert at in await held.sees("/debates?q=bird")
    assert "None of these." in await held.sees("/debates?q=stork")
    assert "None of these." in await held.sees("/debates?state=failed")
    assert "is the heron a bird?" in (await held.sees("/runs")).lower()
    assert log.headers["content-type"].startswith("text/plain")
    assert log.headers["x-content-type-options"] == "nosniff"
    assert b"Question: " in log.body


async def test_a_seat_tells_nothing_before_it_is_taken_and_nothing_to_the_uncleared(
    held: Browser,
) -> None:
    project = await got(held.site, "POST", "/projects", {"name": "p", "label": "team"})
    wish = {
        "question": f"Is the {SECRET} a bird?",
        "guests": 1,
        "project": project["id"],
        "label": "confidential",
    }
    answer = await start(held.site, wish)
    mia = await somebody(held, "mia", clearance="team")
    seat = f"/debates/{answer.json['id']}/seat"

    page = await mia.sees(seat)
    refused = await mia.post(seat, {"do": "join"})

    assert SECRET not in page
    assert refused.status == 404
    assert SECRET not in refused.body.decode()
