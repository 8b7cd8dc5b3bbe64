"""The six tools of debates, as a model meets them: in both eras of the protocol."""

from collections.abc import AsyncIterator

import pytest

from portico.adapters.tokens import O200k
from portico.debate.core.errors import DebateNotFound
from portico.guard.core.principals import Scope
from portico.interfaces.mcp.debate.definitions import EVERY, INSTRUCTIONS, for_a_model
from portico.kernel.json import canonical
from tests.interfaces.http.memory import NAMES
from tests.interfaces.http.test_permissions import key_with
from tests.interfaces.mcp.rooms import Caller, DebateSite, text_of

TOOLS = ["debate", "analyze", "join_debate", "outcome", "replay", "debate_status"]
SHOWN_TO_READERS = {"replay", "debate_status"}
QUESTION = "Is the heron a bird?"


@pytest.fixture
async def caller(debates: DebateSite) -> AsyncIterator[Caller]:
    async with debates.caller() as made:
        yield made


@pytest.mark.requirement("debate:mcp:900-tokens")
def test_all_that_a_model_is_shown_costs_no_more_than_was_promised() -> None:
    costs = [O200k().count(canonical(tool.listed()).decode()) for tool in EVERY]

    assert [tool.name for tool in EVERY] == TOOLS
    assert sum(costs) <= 900


def test_a_model_is_not_sent_to_a_command_line() -> None:
    fix = for_a_model(DebateNotFound("dbt_1")).fix or ""

    assert "portico" not in fix
    assert "`debate_status`" in fix


async def test_the_list_says_what_only_reads(debates: DebateSite, era: str) -> None:
    async with debates.client(era=era) as client:
        tools = (await client.list_tools()).tools
        instructions = client.session.instructions

    hints = {tool.name: tool.annotations for tool in tools}
    assert [tool.name for tool in tools] == TOOLS
    assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == {"replay"}
    assert not any(hint.destructive_hint for hint in hints.values() if hint)
    assert instructions == INSTRUCTIONS


async def test_whoever_may_only_read_is_shown_only_that(debates: DebateSite) -> None:
    key = await key_with(debates.site, {Scope.DEBATES_READ})
    async with debates.client(key) as client:
        tools = (await client.list_tools()).tools
        result = await client.call_tool("debate", {"question": QUESTION})

    assert {tool.name for tool in tools} == SHOWN_TO_READERS
    assert text_of(result).startswith("not_permitted: ")


async def test_a_debate_answers_with_its_probability_and_its_dissent(
    debates: DebateSite, era: str
) -> None:
    debates.site.debates.say("yes", "no", "yes", "yes")
    async with debates.caller(era=era) as caller:
        told = await caller.told("debate", question=QUESTION, key="k")
        facts = await caller.got("debate", question=QUESTION, key="k")

    assert "Decided: yes (" in told
    assert "Dissent:\n  no (" in told
    assert "tokens in" in told
    decision = facts["decision"]
    assert (facts["status"], decision["answer"]) == ("decided", "yes")
    assert decision["dissent"][0]["voices"] == [NAMES[1]]
    assert 0.5 < decision["probability"] < 1


async def test_what_was_not_done_is_told_in_words(debates: DebateSite, caller: Caller) -> None:
    debates.site.debates.say("yes", "yes", "yes", "yes")
    told = await caller.told("debate", question=QUESTION, key="k")
    facts = await caller.got("debate", question=QUESTION, key="k")

    assert facts["not_done"]
    assert all(each.startswith("Not done: ") for each in facts["not_done"])
    assert facts["not_done"][0] in told


async def test_choices_are_held_to(debates: DebateSite, caller: Caller) -> None:
    debates.site.debates.say("heron", "Heron.", "HERON", "elephant")
    facts = await caller.got("debate", question="Which?", kind="choice", choices=["heron", "egret"])
    doubled = await caller.refused("debate", question="Which?", choices=["heron", "Heron"])

    assert facts["decision"]["answer"] == "heron"
    assert facts["choices"] == ["heron", "egret"]
    assert doubled == "bad_debate"


async def test_an_estimate_asks_nobody(debates: DebateSite, caller: Caller) -> None:
    told = await caller.told("debate", question=QUESTION, estimate_only=True)
    small = await caller.got("debate", question=QUESTION, estimate_only=True, budget=10)
    refused = await caller.refused("debate", question=QUESTION, budget=10)

    assert debates.site.debates.voices.asks == []
    assert told.startswith("At most ")
    assert NAMES[0] in told
    assert (small["fits"], refused) == (False, "budget_too_small")


async def test_a_guest_takes_a_seat_is_asked_and_answers(debates: DebateSite, era: str) -> None:
    debates.site.debates.say("yes", "yes", "yes", "yes")
    key = await key_with(debates.site, {Scope.DEBATES_JOIN})
    async with debates.caller(era=era) as host, debates.caller(key, era=era) as guest:
        begun = await host.got("debate", question=QUESTION, voices=[NAMES[0]], guests=1)
        its = begun["debate"]
        early = await guest.refused("join_debate", debate=its, answer="yes")
        seat = await guest.got("join_debate", debate=its, wait=20)
        told = await guest.told("join_debate", debate=its)
        none = await guest.refused("join_debate", debate=its, answer="perhaps")
        after = await guest.told("join_debate", debate=its, answer="yes", confidence=0.9, wait=20)
        ended = await host.got("debate_status", debate=its, wait=20)

    assert begun["status"] == "running"
    assert (early, none) == ("not_seated", "bad_debate")
    assert seat["voice"] == "guest:ana"
    assert QUESTION in told
    assert after == "You sat there as guest:ana. The debate is over."
    assert ended["status"] == "decided"


async def test_how_it_turned_out_is_marked_and_other_rules_are_tried(
    debates: DebateSite, caller: Caller
) -> None:
    debates.site.debates.say("yes", "yes", "yes", "yes")
    its = (await caller.got("debate", question=QUESTION))["debate"]
    told = await caller.told("outcome", debate=its, answer="no")
    facts = await caller.got("outcome", debate=its, right=True, source="test")
    none = await caller.refused("outcome", debate=its, answer="elephant")
    replayed = await caller.told("replay", debate=its, preset="vote", thoroughness=0)
    without = await caller.refused("replay", debate=its, without=["nobody"])

    assert told.startswith(f"Written down: {its} was wrong; the right answer is no.")
    assert (facts["decided_right"], facts["right"]) == (True, "yes")
    assert none == "bad_debate"
    assert replayed.startswith("Decided: yes")
    assert "It was: yes." in replayed
    assert without


async def test_a_task_is_analysed(debates: DebateSite, caller: Caller) -> None:
    for voice in debates.site.debates.voices.debaters.values():
        voice.parts = [
            {"question": "Do herons fly?", "kind": "yes_no"},
            {"question": "Do herons swim?", "kind": "yes_no"},
        ]
    facts = await caller.got("analyze", task="How do herons live?", parts=2)
    told = await caller.told("debate_status", debate=facts["debate"])
    part = await caller.got("debate_status", debate=facts["parts"][0]["debate"])

    assert facts["status"] == "decided"
    assert [each["question"] for each in facts["parts"]] == ["Do herons fly?", "Do herons swim?"]
    assert part["question"] == "Do herons fly?"
    assert f"Parts:\n  {part['debate']}: Do herons fly? Decided: " in told
    assert "Dissent:" not in told
    assert facts["question"] == "How do herons live?"


async def test_one_finds_ones_debates_and_who_can_be_asked(
    debates: DebateSite, caller: Caller
) -> None:
    debates.site.debates.voices.debaters[NAMES[3]].available = False
    empty = await caller.told("debate_status")
    its = (await caller.got("debate", question=QUESTION))["debate"]
    told = await caller.told("debate_status", words="heron")
    after = await caller.got("debate_status", after=its)
    one = await caller.told("debate_status", debate=its)
    nobody = await caller.refused("debate_status", debate="dbt_" + "0" * 26)
    no_id = await caller.refused("debate_status", debate="heron")

    assert empty.startswith("No debates that you may read.\nVoices:")
    assert f"  {NAMES[3]} [restricted, qwen]: away." in empty
    assert "Personas: architect, critic, pragmatist, security." in empty
    assert told.startswith(f"{its} [public] ")
    assert after["debates"] == []
    assert its in one
    assert (nobody, no_id) == ("debate_not_found", "bad_id")


async def test_one_stops_a_debate_of_ones_own_and_hears_how_it_ended(debates: DebateSite) -> None:
    key = await key_with(debates.site, {Scope.DEBATES_READ})
    async with debates.caller() as caller, debates.caller(key) as reader:
        its = (await caller.got("debate", question=QUESTION, guests=1))["debate"]
        none = await caller.refused("debate_status", stop=True)
        may_not = await reader.refused("debate_status", debate=its, stop=True)
        going_on = await caller.got("debate_status", debate=its, stop=False)
        stopped = await caller.got("debate_status", debate=its, stop=True)
        over = await caller.refused("debate_status", debate=its, stop=True)

    assert (none, may_not) == ("bad_debate_input", "not_permitted")
    assert (going_on["status"], stopped["status"]) == ("running", "stopped")
    assert over == "debate_over"


async def test_whoever_is_told_of_a_debate_has_read_as_much(debates: DebateSite, era: str) -> None:
    async with debates.caller(era=era) as caller:
        facts = await caller.got("debate", question=QUESTION, label="confidential")
        again = await caller.got("debate", question="Is the egret a bird?")

    assert (facts["label"], again["label"]) == ("confidential", "confidential")


async def test_what_is_unknown_is_refused(caller: Caller) -> None:
    tool = await caller.refused("brawl")
    field = await caller.refused("debate", question=QUESTION, max_tokens=5)
    voice = await caller.refused("debate", question=QUESTION, voices=["openai:gpd"])

    assert tool == "no_such_debate_tool"
    assert field == "bad_debate_input"
    assert voice == "voice_not_found"
