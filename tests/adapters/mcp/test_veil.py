"""What a server was given is in nothing that it says to others."""

import json

import pytest

from portico.adapters.mcp.exchange import Exchange
from portico.adapters.mcp.veil import Veil
from portico.gateway.core.errors import UpstreamRefused
from portico.gateway.core.server import FromEnvironment, FromSecret
from portico.gateway.core.upstream import Target
from tests.adapters.mcp.pools import AMPLE, Caller, a_pool, launched, said, target
from tests.adapters.mcp.test_secrets import Keeper

CANARY = 'canary/with "quotes" & 1f2e'
BLACK = "********"


class OneSecret(Keeper):
    def __init__(self) -> None:
        super().__init__()
        self.values = dict.fromkeys(self.values, CANARY)


def gossip() -> Target:
    return target(launched("gossip", KEY=FromSecret("secret:github")))


async def test_an_answer_has_none_of_it_however_deep_and_all_of_the_rest() -> None:
    async with a_pool(keeper=OneSecret()) as pool:
        answer = await pool.call(gossip(), "everywhere", {}, timeout=AMPLE)

    assert said(answer) == f'password={BLACK}, and "{BLACK}" again; the other password=hunter2'
    assert answer.structured == {BLACK: [{"deep": {"deeper": [1, None, f"<{BLACK}>"]}}]}
    assert answer.meta == {"x/y": BLACK}


async def test_a_server_that_prints_its_environment_does_not_give_its_credential_away() -> None:
    async with a_pool(keeper=OneSecret()) as pool:
        answer = await pool.call(gossip(), "environment", {}, timeout=AMPLE)
        backwards = await pool.call(gossip(), "environment", {"backwards": True}, timeout=AMPLE)

    assert json.loads(said(answer))["environment"]["KEY"] == BLACK
    assert json.loads(said(backwards))["environment"]["KEY"] == CANARY[::-1]


async def test_resources_prompts_and_errors_have_none_of_it() -> None:
    async with a_pool(keeper=OneSecret()) as pool:
        resource = await pool.read_resource(gossip(), "x:/", timeout=AMPLE)
        prompt = await pool.get_prompt(gossip(), "p", {}, timeout=AMPLE)
        failed = await pool.call(gossip(), "refuse", {}, timeout=AMPLE)
        with pytest.raises(UpstreamRefused) as refused:
            await pool.complete(gossip(), {}, timeout=AMPLE)

    assert resource["contents"] == [{"uri": "x:/", "text": f"it is {BLACK}"}]
    assert f"Say {BLACK}" in json.dumps(prompt)
    assert (failed.failed, said(failed)) == (True, f"login failed with {BLACK}")
    assert f"no {BLACK}" in str(refused.value)


async def test_what_it_says_on_the_way_has_none_of_it() -> None:
    caller = Caller([{"action": "accept", "content": {}}])

    async with a_pool(keeper=OneSecret()) as pool:
        await pool.call(gossip(), "aloud", {}, timeout=AMPLE, line=caller)

    assert caller.steps == [(1, None, f"with {BLACK}")]
    assert caller.logged == [{"level": "info", "data": {"env": [BLACK]}}]
    assert [asked.params["message"] for asked in caller.asked] == [f"Is it {BLACK}?"]


async def test_neither_has_a_question_of_the_modern_era() -> None:
    caller = Caller([{"action": "accept", "content": {}}])
    exchange = Exchange(subject="x", name="x", line=caller, veil=Veil(["lasting-1"]))
    question = {"method": "elicitation/create", "params": {"message": "Is it lasting-1?"}}

    await exchange.answers({"who": question})

    assert [asked.params for asked in caller.asked] == [{"message": f"Is it {BLACK}?"}]


async def test_what_it_says_of_itself_has_none_of_it() -> None:
    async with a_pool(keeper=OneSecret()) as pool:
        seen = await pool.look(gossip())

    assert seen.instructions == f"Use {BLACK}."
    assert {tool["description"] for tool in seen.tools} == {f"Uses {BLACK}."}


async def test_another_server_may_say_the_same() -> None:
    """It was not given it: whoever wrote it there may want to read it."""
    async with a_pool(keeper=OneSecret()) as pool:
        await pool.call(gossip(), "everywhere", {}, timeout=AMPLE)
        echo = target(launched("plain"), "other")
        answer = await pool.call(echo, "echo", {"text": CANARY}, timeout=AMPLE)

    assert said(answer) == CANARY


async def test_what_a_server_was_given_and_is_no_credential_stays() -> None:
    given = {"REGION": "eu-central-1", "API_TOKEN": "plain-words-only"}
    launch = launched("plain", **{name: FromEnvironment(name) for name in given})

    async with a_pool(environment=given) as pool:
        answer = await pool.call(target(launch), "environment", {}, timeout=AMPLE)
    environment = json.loads(said(answer))["environment"]

    assert (environment["REGION"], environment["API_TOKEN"]) == ("eu-central-1", BLACK)


def test_tokens_that_follow_each_other_are_hidden_and_the_oldest_forgotten() -> None:
    veil = Veil(["lasting-1"])
    for number in range(6):
        veil.learn_passing(f"token-{number}-of-an-hour")
    veil.learn_passing("token-5-of-an-hour")
    veil.learn(["lasting-2"])

    text = veil.text("lasting-1 lasting-2 token-5-of-an-hour token-2-of-an-hour token-1-of-an-hour")

    assert text == f"{BLACK} {BLACK} {BLACK} {BLACK} token-1-of-an-hour"


def test_what_goes_back_to_the_server_stays_what_it_was() -> None:
    veil = Veil(["lasting-1"])

    assert veil({"x": "lasting-1", "nextCursor": "lasting-1"}, but="nextCursor") == {
        "x": BLACK,
        "nextCursor": "lasting-1",
    }
    assert veil({"x": "lasting-1"}, but="nextCursor") == {"x": BLACK}
