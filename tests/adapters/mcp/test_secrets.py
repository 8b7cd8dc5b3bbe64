"""What a launch comes to: values and secrets of now, as they were approved, and told by nobody."""

import json
from pathlib import Path

import pytest

from portico.adapters.mcp.client_requests import Exchange
from portico.adapters.mcp.secrets import CredentialRedactor, Ours, address, command
from portico.adapters.mcp.transport import TransportFailed
from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.gateway.core.client_config_values import shown_url
from portico.gateway.core.errors import UpstreamRefused
from portico.gateway.core.servers import (
    FromEnvironment,
    FromFile,
    FromSecret,
    Http,
    Plain,
    Stdio,
    Template,
    Value,
)
from portico.gateway.core.servers import Spelling as Written
from portico.guard.core.secrets import SecretRef, SecretsUnavailable
from tests.adapters.mcp.pools import AMPLE, HOME, Caller, a_pool, launched, said, target

OURS = Ours({"TOKEN": "token-of-ours", "EMPTY": "", "PORTICO_SECRET": "never", "HOME": "/home/ana"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Plain("as it is"), "as it is"),
        (FromEnvironment("TOKEN"), "token-of-ours"),
        (FromEnvironment("TOKEN", "else"), "token-of-ours"),
        (FromEnvironment("MISSING", "else"), "else"),
        (FromEnvironment("EMPTY", "else"), "else"),
        (FromEnvironment("EMPTY"), ""),
        (Template(("Bearer ", FromEnvironment("TOKEN"), "!")), "Bearer token-of-ours!"),
    ],
)
async def test_a_value_is_what_it_refers_to(value: Value, text: str) -> None:
    made = await command(Stdio("run", (value,)), OURS)

    assert made.arguments == (text,)


@pytest.mark.parametrize(
    ("name", "text", "pointer", "found"),
    [
        ("a.json", '\ufeff{"env": {"K": "v"}, /* why */}', "/env/K", "v"),
        ("a.json", '{"a/b": {"~": true}}', "/a~1b/~0", "true"),
        ("a.json", '{"list": ["x", 7]}', "/list/1", "7"),
        ("a.toml", '[mcp_servers.x.env]\nK = "v"\n', "/mcp_servers/x/env/K", "v"),
        (".env", 'export K="v"\n', "/K", "v"),
        ("token", "whole\n", "", "whole"),
    ],
)
async def test_a_place_in_a_file_is_found_whatever_it_is_written_in(
    tmp_path: Path, name: str, text: str, pointer: str, found: str
) -> None:
    file = tmp_path / name
    file.write_text(text)

    made = await command(Stdio("run", environment={"K": FromFile(str(file), pointer)}), OURS)

    assert made.environment == {"K": found}
    assert found in made.secrets


async def test_variables_inside_a_file_are_filled_in(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"h": "Bearer ${TOKEN}"}')

    made = await address(
        Http("https://x.example/", {"A": FromFile(str(file), "/h", "braces")}), OURS
    )

    assert made.headers == {"A": "Bearer token-of-ours"}
    assert {"Bearer token-of-ours", "token-of-ours"} <= made.secrets


async def test_an_address_that_holds_a_key_is_read_from_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"url": "https://u:passw0rd@x.example/mcp?key=k3y-k3y-k3y"}')
    shown = Http(
        "https://u:********@x.example/mcp?key=k3y-k3y-k3y", secret_url=FromFile(str(file), "/url")
    )

    made = await address(shown, OURS)

    assert made.url == "https://u:passw0rd@x.example/mcp?key=k3y-k3y-k3y"
    assert {"k3y-k3y-k3y", "passw0rd"} <= made.secrets


async def test_only_what_was_referred_to_is_secret() -> None:
    values: tuple[Value, ...] = (
        Plain("plain"),
        FromEnvironment("TOKEN"),
        FromEnvironment("X", "d"),
    )

    made = await command(Stdio("run", values), OURS)

    assert made.secrets == {"token-of-ours"}


async def test_a_program_and_a_folder_in_ones_home_are_found() -> None:
    made = await command(Stdio("~/bin/run", folder="~/work"), OURS)

    assert made.program == f"{Path.home()}/bin/run"
    assert made.folder == f"{Path.home()}/work"


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        (None, FromEnvironment("MISSING"), "the variable MISSING is not set"),
        (None, FromEnvironment("PORTICO_SECRET"), "gives nothing of its own away"),
        (None, Template(("x", FromEnvironment("MISSING"))), "MISSING is not set"),
        (None, FromFile("", "/k"), "there is no file"),
        ("{", FromFile("", "/k"), "is not valid JSON"),
        ('{"k": {"deeper": 1}}', FromFile("", "/k"), "there is nothing at /k"),
        ("{}", FromFile("", "/k"), "there is nothing at /k"),
        ('{"k": "${MISSING}"}', FromFile("", "/k", "braces"), "MISSING, which .* mentions"),
        ('{"k": "${PORTICO_SECRET}"}', FromFile("", "/k", "braces"), "PORTICO_SECRET, which"),
    ],
)
async def test_what_is_missing_is_named_and_says_what_to_do(
    tmp_path: Path, text: str | None, value: Value, reason: str
) -> None:
    file = tmp_path / "mcp.json"
    if text is not None:
        file.write_text(text)
    if isinstance(value, FromFile):
        value = FromFile(str(file), value.pointer, value.spelling)

    with pytest.raises(TransportFailed, match=reason) as missing:
        await command(Stdio("run", (value,)), OURS)

    assert missing.value.fix
    assert not missing.value.reached
    assert "never" not in str(missing.value)


async def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(TransportFailed, match="is not a file"):
        await command(Stdio("run", (FromFile(str(tmp_path), "/k"),)), OURS)


KEY = "abc123def456ghi7"
KNOWN = Ours({"TOKEN": "token-of-ours", "HOST": "x.example", "OPTION": "--eval=1"})


def _file(folder: Path, value: str) -> str:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"value": value}))
    return str(file)


@pytest.mark.parametrize(
    ("approved", "now", "spelling", "url"),
    [
        (
            f"https://x.example/mcp?api_key={KEY}",
            "https://x.example/mcp?api_key=0ther0ther0ther0",
            None,
            "https://x.example/mcp?api_key=0ther0ther0ther0",
        ),
        (
            "https://u:old@x.example:8080/mcp",
            "https://u:new@x.example:8080/mcp",
            None,
            "https://u:new@x.example:8080/mcp",
        ),
        (
            "https://${HOST}/mcp?api_key=${TOKEN}",
            "https://${HOST}/mcp?api_key=${TOKEN}",
            "braces",
            "https://x.example/mcp?api_key=token-of-ours",
        ),
    ],
)
async def test_the_key_in_an_address_may_be_another(
    tmp_path: Path, approved: str, now: str, spelling: Written | None, url: str
) -> None:
    secret = FromFile(_file(tmp_path, now), "/value", spelling)

    made = await address(Http(shown_url(approved), secret_url=secret), KNOWN)

    assert made.url == url


@pytest.mark.parametrize(
    ("approved", "now", "spelling"),
    [
        (
            f"https://x.example/mcp?api_key={KEY}",
            f"https://evil.example/mcp?api_key={KEY}",
            None,
        ),
        (f"https://x.example/mcp?api_key={KEY}", f"http://x.example/mcp?api_key={KEY}", None),
        (f"https://x.example/mcp?api_key={KEY}", f"https://x.example/other?api_key={KEY}", None),
        ("https://u:old@x.example/mcp", "https://u:p@evil.example:1/a@x.example/mcp", None),
        ("https://u:old@x.example/mcp", "https://u:p@evil.example\\@x.example/mcp", None),
        ("https://${HOST}/mcp?api_key=${TOKEN}", "https://evil.example/mcp?api_key=x", "braces"),
        (f"https://x.example/mcp?api_key={KEY}", "no address", None),
    ],
)
async def test_an_address_that_is_another_is_not_gone_to(
    tmp_path: Path, approved: str, now: str, spelling: Written | None
) -> None:
    secret = FromFile(_file(tmp_path, now), "/value", spelling)

    with pytest.raises(
        TransportFailed, match=r"its address, in .*, is not what was approved"
    ) as other:
        await address(Http(shown_url(approved), secret_url=secret), KNOWN)

    assert "Approve it anew" in (other.value.fix or "")
    assert not other.value.reached


@pytest.mark.parametrize(
    ("before", "now", "spelling", "text"),
    [
        ("--token", "hunter2", None, "hunter2"),
        ("serve", "sk-abc123def456ghi7jkl", None, "sk-abc123def456ghi7jkl"),
        ("serve", "--api-key=hunter2", None, "--api-key=hunter2"),
        ("serve", f"--header=Authorization: Bearer {KEY}", None, None),
        ("--url", f"https://x.example/?u=${{TOKEN}}&api_key={KEY}", "braces", None),
    ],
)
async def test_a_secret_among_the_arguments_may_be_another(
    tmp_path: Path, before: str, now: str, spelling: Written | None, text: str | None
) -> None:
    secret = FromFile(_file(tmp_path, now), "/value", spelling)

    made = await command(Stdio("run", (Plain(before), secret)), KNOWN)

    assert made.arguments == (before, text or now.replace("${TOKEN}", "token-of-ours"))


@pytest.mark.parametrize(
    ("before", "now", "spelling"),
    [
        ("--token", "--eval=evil", None),
        ("--token", f"--eval=evil()//{KEY}", None),
        ("--token", f"-e{KEY}", None),
        ("serve", "evil-package", None),
        ("serve", "${TOKEN}", "braces"),
        ("serve", f"${{OPTION}}{KEY}", "braces"),
    ],
)
async def test_an_argument_that_is_no_secret_any_more_is_not_given(
    tmp_path: Path, before: str, now: str, spelling: Written | None
) -> None:
    secret = FromFile(_file(tmp_path, now), "/value", spelling)

    with pytest.raises(
        TransportFailed, match=r"one of its arguments, in .*, is not what was approved"
    ):
        await command(Stdio("run", (Plain(before), secret)), KNOWN)


async def test_a_file_for_a_secret_alone_may_hold_any_but_an_option(tmp_path: Path) -> None:
    file = tmp_path / "password"
    server = Stdio("run", (Plain("serve"), FromFile(str(file), "")))

    file.write_text("correct horse\n")
    made = await command(server, KNOWN)
    file.write_text("--eval=evil\n")
    with pytest.raises(TransportFailed, match="not what was approved"):
        await command(server, KNOWN)

    assert made.arguments == ("serve", "correct horse")


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


KEPT = Ours({"TOKEN": "of ours"}, str(HOME), Keeper())


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
    with pytest.raises(TransportFailed, match=reason) as broken:
        await command(server, Ours({}, str(space), Keeper()))

    assert fix in (broken.value.fix or "")
    assert not broken.value.reached


async def test_variables_and_headers_are_filled_in_and_are_secrets() -> None:
    launch = Http("https://x.example", {"A": Template(("Bearer ", FromSecret("secret:github")))})

    made = await address(launch, KEPT)

    assert made.headers == {"A": f"Bearer {CANARY}"}
    assert CANARY in made.secrets
    assert (await command(keyed("env:TOKEN"), KEPT)).environment == {"K": "of ours"}


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
    exchange = Exchange(
        subject="x", name="x", channel=caller, veil=CredentialRedactor(["lasting-1"])
    )
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
    veil = CredentialRedactor(["lasting-1"])
    for number in range(6):
        veil.learn_passing(f"token-{number}-of-an-hour")
    veil.learn_passing("token-5-of-an-hour")
    veil.learn(["lasting-2"])

    text = veil.text("lasting-1 lasting-2 token-5-of-an-hour token-2-of-an-hour token-1-of-an-hour")

    assert text == f"{BLACK} {BLACK} {BLACK} {BLACK} token-1-of-an-hour"


def test_what_goes_back_to_the_server_stays_what_it_was() -> None:
    veil = CredentialRedactor(["lasting-1"])

    assert veil({"x": "lasting-1", "nextCursor": "lasting-1"}, but="nextCursor") == {
        "x": BLACK,
        "nextCursor": "lasting-1",
    }
    assert veil({"x": "lasting-1"}, but="nextCursor") == {"x": BLACK}
