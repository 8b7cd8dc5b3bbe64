"""Keys in the console: shown once, rotated, revoked."""

import re

import pytest

from portico.guard.core.roles import Role
from tests.faces.web.conftest import Browser
from tests.faces.web.somebody import somebody

KEY = re.compile(r"ptc_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}")


async def test_a_key_is_shown_once_and_not_when_the_form_is_sent_again(console: Browser) -> None:
    fields = {"name": "report", "holder": "me", "once": "abc1", "days": "30"}

    first = await console.post("/settings/keys", fields)
    again = await console.post("/settings/keys", fields)
    listed = await console.sees("/settings/keys")

    found = KEY.findall(first.body.decode())
    assert first.status == 200
    assert len(set(found)) == 1
    assert (await console.site.use.authenticate(found[0])).principal.name == "ana"
    assert again.status == 200
    assert not KEY.search(again.body.decode())
    assert b"was shown then" in again.body
    assert not KEY.search(listed)
    assert listed.count(">report") == 1


async def test_a_key_has_what_was_chosen_and_no_more(console: Browser) -> None:
    fields: dict[str, str | list[str]] = {
        "name": "narrow",
        "holder": "me",
        "clearance": "team",
        "tools": "files.* mail.read",
        "scope": ["status:read", "tools:read"],
    }
    made = await console.post("/settings/keys", fields)

    [key] = set(KEY.findall(made.body.decode()))
    who = (await console.site.use.authenticate(key)).principal

    assert set(who.scopes) == {"status:read", "tools:read"}
    assert str(who.clearance) == "team"
    assert who.tools == (("files.*", "mail.read"),)


async def test_a_key_for_a_program_is_an_agent_s(console: Browser) -> None:
    made = await console.post("/settings/keys", {"name": "editor", "holder": "agent"})

    [key] = set(KEY.findall(made.body.decode()))

    assert (await console.site.use.authenticate(key)).principal.kind == "agent"
    assert b"mcpServers" in made.body


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "", "holder": "me"}, b"must be filled in"),
        ({"name": "a\tb", "holder": "me"}, b"plain text on one line"),
        ({"name": "a", "holder": "me", "scope": "all:things"}, b"there is no"),
        ({"name": "a", "holder": "me", "days": "many"}, b"must be a whole number"),
        ({"name": "a", "holder": "me", "clearance": "sky"}, b"Write a level"),
        ({"name": "a", "holder": "me", "clearance_compartments": "x"}, b"must be chosen"),
        ({"name": "a", "holder": "nobody"}, b"not an id"),
    ],
)
async def test_a_form_for_a_key_says_what_is_wrong_and_keeps_what_was_typed(
    console: Browser, fields: dict[str, str], told: bytes
) -> None:
    answer = await console.post("/settings/keys", {**fields, "tools": "kept.*"})

    assert answer.status == 422
    assert told in answer.body
    assert b"kept.*" in answer.body


async def test_a_key_is_rotated_and_the_new_one_shown_once(console: Browser) -> None:
    made = await console.post("/settings/keys", {"name": "report", "holder": "me"})
    old = KEY.findall(made.body.decode())[0]
    fields = {"key": old.split("_")[1], "overlap": "0", "once": "r1"}

    rotated = await console.post("/settings/keys/rotate", fields)
    again = await console.post("/settings/keys/rotate", fields)

    [new] = set(KEY.findall(rotated.body.decode()))
    assert new != old
    assert (await console.site.use.authenticate(new)).principal.name == "ana"
    assert not KEY.search(again.body.decode())


async def test_a_key_is_revoked(console: Browser) -> None:
    made = await console.post("/settings/keys", {"name": "report", "holder": "me"})
    key = KEY.findall(made.body.decode())[0]

    to = await console.does("/settings/keys/revoke", {"key": key.split("_")[1]})

    assert "does not work any more" in await console.sees(to)
    assert (await console.site.ask("GET", "/api/v1/me", key=key)).status == 401


async def test_a_viewer_has_no_keys_and_no_tab(console: Browser) -> None:
    vi = await somebody(console, "vi", role=Role.VIEWER)

    text = await vi.sees("/settings")

    assert 'href="/settings/keys"' not in text
    assert (await vi.get("/settings/keys")).status == 403
    assert (await vi.post("/settings/keys", {"name": "x", "holder": "me"})).status == 403
