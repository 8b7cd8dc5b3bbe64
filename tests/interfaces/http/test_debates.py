"""Debates over REST, also as server-sent events: the use cases and the runs are real, and the
voices say what they are told to."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from portico.debate.core.debaters import Tariff
from portico.debate.core.debates import Debate, DebateId
from portico.debate.core.events import DebaterSpoke
from portico.debate.core.events import DebateStreamItem as Heard
from portico.debate.core.questions import Cap
from portico.engine.core.errors import InvalidCursor
from portico.guard.core.principals import Scope
from portico.interfaces.http.debates import DebateStreamEncoder
from tests.interfaces.http.asgi import Answer, Header, bearing
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.memory import NAMES
from tests.interfaces.http.streaming import Stream, streaming
from tests.interfaces.http.test_permissions import key_with

API = "/api/v1"
WAIT: Header = (b"prefer", b"wait=10")
QUESTION = {"question": "Is the heron a bird?"}
PARTS = [
    {"question": "Do herons fly?", "kind": "yes_no"},
    {"question": "Do herons swim?", "kind": "yes_no"},
]


@pytest.fixture
async def held(site: Site) -> AsyncIterator[Site]:
    """With debates carried out."""
    async with site.working():
        yield site


async def start(site: Site, body: dict[str, Any], *headers: Header) -> Answer:
    return await site.ask("POST", f"{API}/debates", body, headers=headers)


async def decided(site: Site, **wish: Any) -> Any:
    answer = await start(site, {**QUESTION, **wish}, WAIT)
    assert answer.status == 200, answer.json
    return answer.json


async def got(site: Site, method: str, path: str, body: Any = None, query: str = "") -> Any:
    answer = await site.ask(method, f"{API}{path}", body, query=query)
    assert answer.status < 300, answer.json
    return answer.json if answer.body else None


async def refused(site: Site, method: str, path: str, body: Any = None) -> tuple[int, str]:
    answer = await site.ask(method, f"{API}{path}", body)
    return answer.status, answer.json["code"]


async def ended(site: Site, debate: str) -> Debate:
    """Once it is over."""
    ana = (await site.use.authenticate(site.key)).principal
    patience = timedelta(seconds=10)
    its = DebateId.parse(debate)
    return await site.debates.use.wait_for_debate(ana, its, patience=patience)


async def test_a_debate_is_started_and_told_where_it_is(held: Site) -> None:
    answer = await start(held, QUESTION)

    assert answer.status == 202
    assert answer.headers["location"] == f"{API}/debates/{answer.json['id']}"
    assert answer.json["status"] == "running"
    assert answer.json["told"] == "Nothing is decided yet."


async def test_whoever_waits_is_told_the_answer(held: Site) -> None:
    held.debates.say("yes", "yes", "no", "yes")

    debate = await decided(held)

    assert debate["decision"]["answer"] == "yes"
    assert debate["told"].startswith("Decided: yes (")
    assert debate["spent"]["calls"] == debate["decision"]["asked"]
    assert debate["question"] == {
        "text": QUESTION["question"],
        "kind": "yes_no",
        "choices": [],
        "topic": "general",
    }


async def test_patience_ends_before_a_debate_whose_guests_do_not_come(held: Site) -> None:
    answer = await start(held, {**QUESTION, "guests": 1}, (b"prefer", b"wait=1"))

    assert (answer.status, answer.json["status"]) == (202, "running")
    assert answer.headers["preference-applied"] == "wait=1"


async def test_all_that_a_debate_can_be_told_arrives(held: Site) -> None:
    project = await got(held, "POST", "/projects", {"name": "heron", "label": "team"})
    memory = f"/projects/{project['id']}/memory/value"
    await got(held, "PUT", memory, {"value": "Herons have feathers."}, query="key=facts")

    debate = await decided(
        held,
        question="Which is it?",
        kind="choice",
        choices=["a bird", "a fish"],
        topic="animals",
        voices=[NAMES[0], NAMES[2]],
        roles=["critic", "security+architect"],
        preset="quorum",
        thoroughness=1,
        cap={"tokens": 50_000, "money": "2.50"},
        deadline_seconds=60,
        project="heron",
        memory=["facts"],
        material="It flies.",
        label="confidential",
        shared=True,
    )
    asked = held.debates.voices.asks[0]

    assert debate["question"]["choices"] == ["a bird", "a fish"]
    assert [voice["name"] for voice in debate["voices"]] == [NAMES[0], NAMES[2]]
    assert debate["voices"][1]["personas"] == ["security", "architect"]
    assert (debate["preset"], debate["thoroughness"]) == ("quorum", 1.0)
    assert debate["cap"] == {"tokens": 50_000, "money": "2.50"}
    assert (debate["project"], debate["private"]) == (project["id"], False)
    assert debate["label"] == "confidential"
    assert "It flies." in asked.prompt
    assert "Herons have feathers." in asked.prompt


def usual_is(site: Site, money: Decimal) -> None:
    """As the settings would say it."""
    prepare = site.debates.use.start_debate.prepare
    usual = replace(prepare.usual, cap=Cap(tokens=100_000, money=money))
    object.__setattr__(prepare, "usual", usual)  # it is frozen, and made without settings here


async def test_what_a_cap_says_nothing_about_is_as_usual(site: Site) -> None:
    usual_is(site, Decimal(1))

    for given, held_to in [
        (None, {"tokens": 100_000, "money": "1"}),
        ({}, {"tokens": 100_000, "money": "1"}),
        ({"tokens": 9_000}, {"tokens": 9_000, "money": "1"}),
        ({"money": "0.5"}, {"tokens": 100_000, "money": "0.5"}),
        ({"tokens": 9_000, "money": None}, {"tokens": 9_000, "money": None}),
    ]:
        started = await start(site, {**QUESTION, "cap": given})
        assert started.json["cap"] == held_to


async def test_where_nothing_may_cost_anything_a_cap_in_tokens_does_not_change_that(
    site: Site,
) -> None:
    usual_is(site, Decimal(0))
    costly = site.debates.voices.debaters[NAMES[0]]
    costly.debater = replace(costly.debater, tariff=Tariff(input=Decimal(1), output=Decimal(1)))
    cap = {"tokens": 9_000}

    free = await start(site, {**QUESTION, "voices": [*NAMES[1:3]], "cap": cap})
    dear = await start(site, {**QUESTION, "voices": [*NAMES[:2]], "cap": cap})

    assert free.status == 202
    assert dear.json["code"] == "budget_too_small"


async def test_an_estimate_asks_nobody_and_adds_up(held: Site) -> None:
    tariff = Tariff(input=Decimal(2), output=Decimal(10))
    voices = held.debates.voices.debaters
    voices[NAMES[0]].debater = replace(voices[NAMES[0]].debater, tariff=tariff)

    estimate = await got(held, "POST", "/debate-estimate", {**QUESTION, "preset": "debate"})

    assert held.debates.voices.asks == []
    rows = estimate["voices"]
    for what in ("tokens", "calls", "money"):
        most = Decimal(estimate["most"][what])
        assert most == sum(Decimal(each[what]) for each in rows) > 0
    assert estimate["likely_tokens"] <= estimate["most"]["tokens"]
    assert (estimate["fits"], estimate["kind"]) == (True, "yes_no")


async def test_an_estimate_says_what_does_not_fit_and_would_not_another_time(site: Site) -> None:
    small = {**QUESTION, "cap": {"tokens": 10}}

    estimate = await got(site, "POST", "/debate-estimate", small)
    refusal = await start(site, small)

    assert estimate["fits"] is False
    assert any("tokens" in note for note in estimate["notes"])
    assert (refusal.status, refusal.json["retryable"]) == (429, False)


async def test_a_whole_debate_has_its_notes_and_how_it_turned_out(held: Site) -> None:
    held.debates.say("yes", "yes", "yes", "yes")
    debate = await decided(held)
    path = f"/debates/{debate['id']}"

    outcome = await got(held, "POST", f"{path}/outcome", {"right": True, "source": "test"})
    whole = await got(held, "GET", path)

    said = [note for note in whole["notes"] if note["kind"] == "said"]
    assert whole["debate"] == debate
    assert {note["voice"] for note in said} == {*debate["decision"]["options"][0]["voices"]}
    assert all(note["cost"]["tokens"] > 0 for note in said)
    assert whole["notes"][-1]["kind"] == "decision"
    assert whole["outcomes"] == [outcome]
    assert (outcome["decided_right"], outcome["shown"], outcome["source"]) == (True, "yes", "test")


async def test_a_replay_decides_again_and_asks_nobody(held: Site) -> None:
    held.debates.say("yes", "yes", "yes", "yes")
    debate = await decided(held)
    asked = len(held.debates.voices.asks)

    path = f"/debates/{debate['id']}/replay"
    again = await got(held, "POST", path, {"preset": "vote", "thoroughness": 0.0})
    without = await refused(held, "POST", path, {"without": ["nobody"]})

    assert len(held.debates.voices.asks) == asked
    assert again["was"]["answer"] == again["now"]["answer"] == "yes"
    assert again["told"].startswith("Decided: yes")
    assert again["calls"] <= again["calls_made"] == asked
    assert without[0] in {404, 422}


async def test_the_log_is_a_text_for_people(held: Site) -> None:
    debate = await decided(held)

    answer = await held.ask("GET", f"{API}/debates/{debate['id']}/log")

    assert answer.headers["content-type"].startswith("text/plain")
    assert "Is the heron a bird?" in answer.body.decode()


async def test_debates_are_listed_newest_first_and_found(held: Site) -> None:
    first = await decided(held)
    second = await decided(held, question="Is the egret a bird?")

    all_ = await got(held, "GET", "/debates")
    found = await got(held, "GET", "/debates", query="q=egret&status=decided")
    none = await got(held, "GET", "/debates", query="status=failed")

    assert [each["id"] for each in all_["data"]] == [second["id"], first["id"]]
    assert [each["id"] for each in found["data"]] == [second["id"]]
    assert none["data"] == []


async def test_one_that_waits_for_guests_can_be_stopped_and_then_removed(held: Site) -> None:
    debate = (await start(held, {**QUESTION, "guests": 1})).json
    path = f"/debates/{debate['id']}"

    await got(held, "POST", f"{path}/stop")
    over = await ended(held, debate["id"])
    again = await refused(held, "POST", f"{path}/stop")
    await got(held, "DELETE", path)

    assert over.status.over
    assert again == (409, "debate_over")
    assert await refused(held, "GET", path) == (404, "debate_not_found")


async def test_guests_take_seats_and_answer(held: Site) -> None:
    held.debates.say("yes", "yes", "yes", "yes")
    debate = (await start(held, {**QUESTION, "voices": NAMES[:1], "guests": 1})).json
    key = await key_with(held, {Scope.DEBATES_JOIN})
    path = f"{API}/debates/{debate['id']}"

    early = await held.ask("POST", f"{path}/answer", {"answer": "yes"}, key=key)
    seat = await held.ask("POST", f"{path}/join", key=key, headers=(WAIT,))
    answered = await held.ask(
        "POST", f"{path}/answer", {"answer": "yes", "confidence": 0.9}, key=key
    )
    over = await ended(held, debate["id"])

    assert (early.status, early.json["code"]) == (403, "not_seated")
    assert seat.json["voice"] == "guest:ana"
    assert "heron" in seat.json["asked"]
    assert answered.status == 200, answered.json
    assert over.decision is not None
    assert "guest:ana" in over.decision.options[0].debaters


async def test_sharing_needs_a_project_and_shows_it_to_its_people(held: Site) -> None:
    alone = await decided(held)
    await got(held, "POST", "/projects", {"name": "heron", "label": "team"})
    ours = await decided(held, project="heron")

    shared = await got(held, "POST", f"/debates/{ours['id']}/share")

    assert (ours["private"], shared["private"]) == (True, False)
    assert await refused(held, "POST", f"/debates/{alone['id']}/share") == (422, "bad_debate")


async def test_a_less_secret_copy_is_asked_for(held: Site) -> None:
    debate = await decided(held, label="confidential")

    asked = await got(held, "POST", f"/debates/{debate['id']}/promote", {"to": "team"})

    assert asked["approval"].startswith("apr_")
    assert [str(to) for _, to in held.debates.promotion.asked] == ["team"]


async def test_a_question_is_analysed_in_parts(held: Site) -> None:
    for voice in held.debates.voices.debaters.values():
        voice.parts = PARTS

    analysis = await decided(held, question="How do herons live?", analyze=True)
    whole = await got(held, "GET", f"/debates/{analysis['id']}")

    assert analysis["analysis"] is True
    assert [part["question"]["text"] for part in whole["parts"]] == [
        "Do herons fly?",
        "Do herons swim?",
    ]
    assert all(part["part_of"] == analysis["id"] for part in whole["parts"])


async def test_voices_say_whether_they_are_there(site: Site) -> None:
    away = site.debates.voices.debaters[NAMES[3]]
    away.available = False

    found = (await got(site, "GET", "/debate-voices", query="fresh=true"))["data"]

    assert [each["name"] for each in found] == [*NAMES]
    assert [each["available"] for each in found] == [True, True, True, False]
    assert found[0]["family"] == "openai"


async def test_personas_are_made_changed_and_removed(site: Site) -> None:
    path = "/debate-personas/gardener"
    made = await got(site, "PUT", path, {"instructions": "You look at plants."})
    changed = await got(site, "PUT", path, {"instructions": "You weed.", "specialist": True})
    there = (await got(site, "GET", "/debate-personas"))["data"]
    built_in = await refused(
        site, "PUT", "/debate-personas/critic", {"instructions": "You praise."}
    )
    await got(site, "DELETE", path)

    assert (made["specialist"], changed["specialist"]) == (False, True)
    assert [each["name"] for each in there if not each["built_in"]] == ["gardener"]
    assert {"architect", "critic", "pragmatist", "security"} <= {each["name"] for each in there}
    assert built_in == (409, "persona_built_in")
    assert await refused(site, "DELETE", path) == (404, "persona_not_found")


async def test_a_project_has_a_budget_for_its_debates(held: Site) -> None:
    project = await got(held, "POST", "/projects", {"name": "heron", "label": "team"})
    path = f"/projects/{project['id']}/debate-budget"

    free = await got(held, "GET", path)
    put = await got(held, "PUT", path, {"tokens": 20_000, "money": "1.5"})
    await decided(held, project="heron")
    spent = await got(held, "GET", path)

    assert free["cap"] == {"tokens": None, "money": None}
    assert put["cap"] == {"tokens": 20_000, "money": "1.5"}
    assert put["spent"]["tokens"] == 0
    assert spent["spent"]["tokens"] > 0


def follows(
    site: Site, debate: str, *more: Header, query: str = ""
) -> AbstractAsyncContextManager[Stream]:
    path = f"/api/v1/debates/{debate}/events"
    return streaming(site.app, path, [*bearing(site.key), *more], query)


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
    held.debates.voices.debaters["openai:gpt"].available = False
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
    piece = DebaterSpoke(voice="a:b", round=1, text="half \ud800 of it")

    told = DebateStreamEncoder().told(Heard("", piece))

    assert told.startswith(b"event: voice.spoke\n")
    assert b"\\ud800" in told


def test_what_breaks_off_says_why() -> None:
    telling = DebateStreamEncoder()

    assert telling.broke(InvalidCursor()).startswith(b'event: error\ndata: {"code": "bad_cursor"')
    assert (telling.gave_up(), telling.waits) == (b"", False)
