"""Settings: sessions ended, keys shown once, people invited, rules made, secrets that stay in."""

import re

from portico.interfaces.console.sessions import COOKIE
from tests.interfaces.console.conftest import Browser, somebody


async def same_person(console: Browser) -> Browser:
    """Ana, in another browser."""
    other = Browser(console.app, console.site, console.house)
    await other.log_in()
    return other


async def test_who_i_am_and_where_i_am_logged_in(console: Browser) -> None:
    await same_person(console)

    text = await console.sees("/settings")

    assert "ana" in text
    assert text.count("this one") == 1
    assert "End all others" in text
    assert "keys:write" in text


async def test_sessions_elsewhere_are_ended_one_by_one_or_all_and_this_one_stays(
    console: Browser,
) -> None:
    one, other = [await same_person(console) for _ in range(2)]
    bo = await somebody(console, "bo")
    session = one.cookies[COOKIE].split("_")[1]

    to = await console.does("/settings/sessions/end", {"session": session})
    ended = [(await each.get("/settings")).status for each in (one, other)]
    await console.does("/settings/sessions/end-others")

    assert "That session has ended." in await console.sees(to)
    assert ended == [303, 200]
    statuses = [(await each.get("/settings")).status for each in (other, console, bo)]
    assert statuses == [303, 200, 200]


async def test_nobody_ends_the_session_of_somebody_else_without_the_right(
    console: Browser,
) -> None:
    bo = await somebody(console, "bo")
    session = console.cookies[COOKIE].split("_")[1]

    refused = await bo.post("/settings/sessions/end", {"session": session})

    assert refused.status == 404
    assert (await console.get("/settings")).status == 200


async def test_light_or_dark_is_kept_by_the_browser(console: Browser) -> None:
    for theme, cookie in (("dark", "theme=dark"), ("light", "theme=light"), ("system", 'theme=""')):
        answer = await console.post("/settings/theme", {"theme": theme})

        assert (answer.status, f"portico_{cookie}" in answer.headers["set-cookie"]) == (303, True)
    assert (await console.post("/settings/theme", {"theme": "sepia"})).status == 422


async def test_a_person_is_invited_by_a_link_that_is_shown_once(console: Browser) -> None:
    fields = {"name": "carla", "role": "member", "clearance": "team", "once": "i1"}

    first = await console.post("/settings/people", fields)
    again = await console.post("/settings/people", fields)

    assert b"http://127.0.0.1:3100/join#ptc_" in first.body
    assert b"/join#" not in again.body
    assert "carla" in await console.sees("/settings/people")


async def test_a_lost_link_is_made_anew_and_people_are_changed(console: Browser) -> None:
    await console.post("/settings/people", {"name": "carla", "role": "member", "clearance": "team"})
    people = (await console.site.ask("GET", "/api/v1/principals")).json["data"]
    [carla] = [each["id"] for each in people if each["name"] == "carla"]

    anew = await console.post("/settings/people/again", {"principal": carla, "once": "g1"})
    await console.does(
        "/settings/people/change",
        {
            "principal": carla,
            "role": "operator",
            "clearance": "confidential",
            "clearance_compartments": "finance",
        },
    )
    await console.does("/settings/people/switch", {"principal": carla, "to": "disabled"})

    now = (await console.site.ask("GET", f"/api/v1/principals/{carla}")).json
    assert b"/join#ptc_" in anew.body
    assert (now["roles"], now["clearance"]) == (["operator"], "confidential+finance")
    assert now["disabled_at"] is not None
    assert "disabled" in await console.sees("/settings/people")


async def test_nobody_changes_their_own_access(console: Browser) -> None:
    me = (await console.site.ask("GET", "/api/v1/me")).json["id"]

    refused = await console.post("/settings/people/switch", {"principal": me, "to": "disabled"})

    assert refused.status in {403, 409}
    assert b"Your own access" in refused.body


async def test_a_rule_is_made_listed_and_removed(console: Browser) -> None:
    fields: dict[str, str | list[str]] = {
        "decision": "ask",
        "name": "careful",
        "tools": "mail.send, files.*",
        "except": "files.read",
        "who": "role:member, bo the great",
        "effect": ["external_write"],
        "days": "3",
        "once": "p1",
    }

    await console.does("/settings/policy", fields)
    again = await console.post("/settings/policy", fields)
    listed = await console.sees("/settings/policy")
    await console.does("/settings/policy/remove", {"name": "careful"})

    assert again.status == 303
    assert "careful" in listed
    assert "bo the great" in listed
    assert "files.read" in listed
    assert "careful" not in await console.sees("/settings/policy")


async def test_many_rules_go_on_by_cursor(console: Browser) -> None:
    for number in range(52):
        rule = {"name": f"r{number:03}", "decision": "ask", "tools": ["a.b"]}
        await console.site.ask("POST", "/api/v1/policy/rules", rule)

    first = await console.sees("/settings/policy")
    older = first.partition('class="more"')[2].partition('href="')[2].partition('"')[0]
    second = await console.sees(older)

    assert first.count("data-row") == 50
    assert "r051" in second
    assert "r001" not in second


async def test_a_rule_that_is_none_says_what_is_wrong(console: Browser) -> None:
    answer = await console.post(
        "/settings/policy", {"decision": "allow", "tools": "nothing", "reads": "on"}
    )

    assert answer.status == 422
    assert b"fits no tool" in answer.body
    assert b'value="nothing"' in answer.body


async def test_a_secret_goes_in_never_comes_out_and_is_taken_away(console: Browser) -> None:
    to = await console.does("/settings/secrets", {"name": "github", "value": " hush\r\nhush "})
    refused = await console.post("/settings/secrets", {"name": "no name", "value": "hush-hush"})
    listed = await console.sees(to)
    away = await console.does("/settings/secrets/unset", {"name": "github"})

    assert ("github" in listed, "hush" in listed) == (True, False)
    assert (refused.status, b"hush" in refused.body) == (422, False)
    assert b"no name" in refused.body
    assert "No secrets." in await console.sees(away)
    assert (await console.post("/settings/secrets/unset", {"name": "github"})).status == 404


async def test_every_page_of_the_settings_names_the_space_below_the_menu(console: Browser) -> None:
    for tab in ("", "/keys", "/people", "/policy", "/secrets", "/about"):
        text = await console.sees(f"/settings{tab}")

        assert "in <b>home</b>" in text, tab
    assert all(it in text for it in ("1.2.3", "PostgreSQL 18.4", "http://127.0.0.1:3100/mcp"))


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
    program = await console.post("/settings/keys", {"name": "editor", "holder": "agent"})
    [key] = set(KEY.findall(program.body.decode()))
    assert (await console.site.use.authenticate(key)).principal.kind == "agent"
    assert b"mcpServers" in program.body


async def test_a_form_for_a_key_says_what_is_wrong_and_keeps_what_was_typed(
    console: Browser,
) -> None:
    for fields, told in (
        ({"name": "", "holder": "me"}, b"must be filled in"),
        ({"name": "a\tb", "holder": "me"}, b"plain text on one line"),
        ({"name": "a", "holder": "me", "scope": "all:things"}, b"there is no"),
        ({"name": "a", "holder": "me", "days": "many"}, b"must be a whole number"),
        ({"name": "a", "holder": "me", "clearance": "sky"}, b"Write a level"),
        ({"name": "a", "holder": "me", "clearance_compartments": "x"}, b"must be chosen"),
        ({"name": "a", "holder": "nobody"}, b"not an id"),
    ):
        answer = await console.post("/settings/keys", {**fields, "tools": "kept.*"})

        assert (answer.status, told in answer.body) == (422, True), fields
        assert b"kept.*" in answer.body


async def test_a_key_is_rotated_and_the_new_one_shown_once_until_it_is_revoked(
    console: Browser,
) -> None:
    made = await console.post("/settings/keys", {"name": "report", "holder": "me"})
    old = KEY.findall(made.body.decode())[0]
    fields = {"key": old.split("_")[1], "overlap": "0", "once": "r1"}

    rotated = await console.post("/settings/keys/rotate", fields)
    again = await console.post("/settings/keys/rotate", fields)
    [new] = set(KEY.findall(rotated.body.decode()))
    who = (await console.site.use.authenticate(new)).principal
    to = await console.does("/settings/keys/revoke", {"key": new.split("_")[1]})

    assert (new != old, who.name) == (True, "ana")
    assert not KEY.search(again.body.decode())
    assert "does not work any more" in await console.sees(to)
    assert (await console.site.ask("GET", "/api/v1/me", key=new)).status == 401
