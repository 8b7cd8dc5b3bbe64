"""Servers are given the secrets that their launch refers to; nothing that they say tells them."""

import json
from pathlib import Path

import pytest

from portico.adapters.mcp.exchange import Exchange
from portico.adapters.mcp.resolve import Ours, address, command
from portico.adapters.mcp.veil import Veil
from portico.adapters.mcp.wire import Broken
from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.gateway.core.errors import UpstreamRefused
from portico.gateway.core.server import FromEnvironment, FromFile, FromSecret, Http, Stdio, Template
from portico.guard.core.secret import SecretRef, SecretsUnavailable
from tests.adapters.mcp.pools import AMPLE, HOME, Caller, a_pool, launched, said, target

CANARY, OTHER = "canary-declared-1f2e", "canary-undeclared-9d8c"


class Keeper:
    def __init__(self) -> None:
        kept = {"github": CANARY, "slack": OTHER, "option": "--eval=evil"}
        self.values = {(str(HOME), f"secret:{name}"): value for name, value in kept.items()}

    def value(self, space: str, ref: SecretRef) -> str | None:
        if ref.name == "locked":
            raise SecretsUnavailable("it is locked", "Unlock it.")
        return self.values.get((space, str(ref)))

    def closed(self, file: Path, pointer: str) -> bool:
        return file.name == "pepper" and not pointer


OURS = Ours({"TOKEN": "of ours"}, str(HOME), Keeper())


@pytest.mark.requirement("guard:secrets:declared-only")
async def test_a_child_has_the_secret_that_was_declared_and_no_other() -> None:
    secrets = KnownSecrets()
    keyed = target(launched("plain", KEY=FromSecret("secret:github")))

    async with a_pool(keeper=Keeper(), secrets=secrets) as pool:
        answer = await pool.call(keyed, "environment", {"backwards": True}, timeout=AMPLE)
        bare = await pool.call(target(launched("plain"), "other"), "environment", {}, timeout=AMPLE)
    environment = json.loads(said(answer))["environment"]

    assert environment["KEY"] == CANARY[::-1]
    assert OTHER[::-1] not in json.dumps(environment)
    assert CANARY not in said(bare)
    assert CANARY not in secrets.clean(f"it said {CANARY}")


async def test_a_secret_that_was_changed_is_given_at_the_next_start() -> None:
    keeper, found = Keeper(), []
    keyed = target(launched("plain", KEY=FromSecret("secret:github")))

    async with a_pool(keeper=keeper) as pool:
        for value in ("first value", "second value"):
            keeper.values[str(HOME), "secret:github"] = value
            answer = await pool.call(keyed, "environment", {"backwards": True}, timeout=AMPLE)
            found.append(json.loads(said(answer))["environment"]["KEY"][::-1])
            await pool.stop(HOME, "server")

    assert found == ["first value", "second value"]


def keyed(ref: str) -> Stdio:
    return Stdio("run", environment={"K": FromSecret(ref)})


@pytest.mark.parametrize(
    ("server", "space", "reason", "fix"),
    [
        (keyed("secret:gone"), HOME, "there is nothing at secret:gone", "secrets set gone"),
        (keyed("keyring:s/n"), HOME, "there is nothing at keyring:s/n", "machine that Portico"),
        (keyed("secret:locked"), HOME, "it is locked", "Unlock it."),
        (keyed("env:PORTICO_PEPPER"), HOME, "gives nothing of its own away", "begin with PORTICO_"),
        (keyed("env:MISSING"), HOME, "MISSING is not set", "Set MISSING"),
        (keyed("secret:github"), "elsewhere", "there is nothing", "secrets set github"),
        (Stdio("run", (FromSecret("secret:option"),)), HOME, "read as an option", ""),
        (Stdio("run", environment={"K": FromFile("/pepper", "")}), HOME, "Portico's own", ""),
    ],
)
async def test_what_cannot_be_given_is_told_without_starting(
    server: Stdio, space: object, reason: str, fix: str
) -> None:
    with pytest.raises(Broken, match=reason) as broken:
        await command(server, Ours({}, str(space), Keeper()))

    assert fix in (broken.value.fix or "")
    assert not broken.value.reached


async def test_variables_and_headers_are_filled_in_and_are_secrets() -> None:
    launch = Http("https://x.example", {"A": Template(("Bearer ", FromSecret("secret:github")))})

    made = await address(launch, OURS)

    assert made.headers == {"A": f"Bearer {CANARY}"}
    assert CANARY in made.secrets
    assert (await command(keyed("env:TOKEN"), OURS)).environment == {"K": "of ours"}


QUOTED = 'canary/with "quotes" & 1f2e'
BLACK = "********"


class OneSecret(Keeper):
    def __init__(self) -> None:
        super().__init__()
        self.values = dict.fromkeys(self.values, QUOTED)


async def test_nothing_that_a_server_says_has_any_of_it_and_all_of_the_rest() -> None:
    """Another server may say the same: whoever wrote it there may want to read it."""
    gossip = target(launched("gossip", KEY=FromSecret("secret:github")))
    echo, caller = target(launched("plain"), "other"), Caller([{"action": "accept", "content": {}}])

    async with a_pool(keeper=OneSecret()) as pool:
        seen = await pool.look(gossip)
        answer = await pool.call(gossip, "everywhere", {}, timeout=AMPLE)
        printed = await pool.call(gossip, "environment", {}, timeout=AMPLE)
        backwards = await pool.call(gossip, "environment", {"backwards": True}, timeout=AMPLE)
        resource = await pool.read_resource(gossip, "x:/", timeout=AMPLE)
        prompt = await pool.get_prompt(gossip, "p", {}, timeout=AMPLE)
        failed = await pool.call(gossip, "refuse", {}, timeout=AMPLE)
        with pytest.raises(UpstreamRefused) as refused:
            await pool.complete(gossip, {}, timeout=AMPLE)
        await pool.call(gossip, "aloud", {}, timeout=AMPLE, line=caller)
        elsewhere = await pool.call(echo, "echo", {"text": QUOTED}, timeout=AMPLE)

    assert seen.instructions == f"Use {BLACK}."
    assert {tool["description"] for tool in seen.tools} == {f"Uses {BLACK}."}
    assert said(answer) == f'password={BLACK}, and "{BLACK}" again; the other password=hunter2'
    assert answer.structured == {BLACK: [{"deep": {"deeper": [1, None, f"<{BLACK}>"]}}]}
    assert answer.meta == {"x/y": BLACK}
    assert json.loads(said(printed))["environment"]["KEY"] == BLACK
    assert json.loads(said(backwards))["environment"]["KEY"] == QUOTED[::-1]
    assert resource["contents"] == [{"uri": "x:/", "text": f"it is {BLACK}"}]
    assert f"Say {BLACK}" in json.dumps(prompt)
    assert (failed.failed, said(failed)) == (True, f"login failed with {BLACK}")
    assert f"no {BLACK}" in str(refused.value)
    assert caller.steps == [(1, None, f"with {BLACK}")]
    assert caller.logged == [{"level": "info", "data": {"env": [BLACK]}}]
    assert [asked.params["message"] for asked in caller.asked] == [f"Is it {BLACK}?"]
    assert said(elsewhere) == QUOTED


async def test_no_question_of_the_modern_era_has_it() -> None:
    caller = Caller([{"action": "accept", "content": {}}])
    exchange = Exchange(subject="x", name="x", line=caller, veil=Veil(["lasting-1"]))
    question = {"method": "elicitation/create", "params": {"message": "Is it lasting-1?"}}

    await exchange.answers({"who": question})

    assert [asked.params for asked in caller.asked] == [{"message": f"Is it {BLACK}?"}]


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
