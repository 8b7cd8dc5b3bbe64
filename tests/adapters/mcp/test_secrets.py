"""Servers are given the secrets that their launch refers to, and no others."""

import json
from pathlib import Path

import pytest

from portico.adapters.mcp.resolve import Ours, address, command
from portico.adapters.mcp.wire import Broken
from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.server import FromFile, FromSecret, Http, Stdio, Template
from portico.guard.core.secret import SecretRef, SecretsUnavailable
from tests.adapters.mcp.pools import AMPLE, HOME, a_pool, launched, said, target

CANARY, OTHER = "canary-declared-1f2e", "canary-undeclared-9d8c"


class Keeper:
    def __init__(self) -> None:
        self.values = {(str(HOME), "secret:github"): CANARY, (str(HOME), "secret:slack"): OTHER}

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


async def test_a_server_whose_secret_is_missing_does_not_start_and_says_how_to_set_it() -> None:
    async with a_pool(keeper=Keeper()) as pool:
        with pytest.raises(UpstreamDown, match="secret:gone") as down:
            keyed = target(launched("plain", KEY=FromSecret("secret:gone")))
            await pool.call(keyed, "environment", {}, timeout=AMPLE)

    assert down.value.fix == "Set it: portico secrets set gone"
    assert pool.running() == 0


async def test_headers_are_filled_in_and_are_secrets() -> None:
    launch = Http("https://x.example", {"A": Template(("Bearer ", FromSecret("secret:github")))})

    made = await address(launch, OURS)

    assert made.headers == {"A": f"Bearer {CANARY}"}
    assert CANARY in made.secrets


@pytest.mark.parametrize(
    ("ref", "reason", "fix"),
    [
        ("secret:gone", "there is nothing at secret:gone", "portico secrets set gone"),
        ("keyring:s/n", "there is nothing at keyring:s/n", "machine that Portico runs on"),
        ("secret:locked", "it is locked", "Unlock it."),
        ("env:PORTICO_PEPPER", "gives nothing of its own away", "does not begin with PORTICO_"),
        ("env:MISSING", "MISSING is not set", "Set MISSING"),
    ],
)
async def test_what_cannot_be_given_is_told_without_starting(
    ref: str, reason: str, fix: str
) -> None:
    with pytest.raises(Broken, match=reason) as broken:
        await command(Stdio("run", environment={"K": FromSecret(ref)}), OURS)

    assert fix in (broken.value.fix or "")
    assert not broken.value.reached


async def test_a_variable_inside_a_reference_is_found() -> None:
    made = await command(Stdio("run", environment={"K": FromSecret("env:TOKEN")}), OURS)

    assert made.environment == {"K": "of ours"}


async def test_no_secret_becomes_an_option() -> None:
    keeper = Keeper()
    keeper.values[str(HOME), "secret:github"] = "--eval=evil"

    with pytest.raises(Broken, match="read as an option"):
        await command(Stdio("run", (FromSecret("secret:github"),)), Ours({}, str(HOME), keeper))


async def test_nothing_of_portico_itself_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "pepper").write_text("never")

    with pytest.raises(Broken, match="Portico's own"):
        await command(Stdio("run", environment={"K": FromFile(str(tmp_path / "pepper"), "")}), OURS)


async def test_another_space_is_given_nothing_of_ours() -> None:
    with pytest.raises(Broken, match="there is nothing"):
        await command(
            Stdio("run", environment={"K": FromSecret("secret:github")}),
            Ours({}, "elsewhere", Keeper()),
        )
