"""Tools: the catalogue by server, the search as agents have it, and a tool tried on its page."""

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.testing.gateway import text as says
from tests.interfaces.console.bridge_scene import words
from tests.interfaces.console.conftest import Browser, console_of
from tests.interfaces.console.shop import DROP, FIND, handed_on, offers, once_in
from tests.interfaces.http.conftest import built

PAGE = "/tools/shop.find_customer"


async def test_servers_are_listed_and_their_tools_come_when_they_are_opened(
    console: Browser,
) -> None:
    await offers(console, FIND, DROP)

    closed = await console.sees("/tools")
    opened = await console.sees("/tools?open=shop")
    part = (await console.get("/tools/group?server=shop", part=True)).body.decode()

    assert "2 tools" in closed
    assert "find_customer" not in closed
    for shown in (opened, part):
        assert 'href="/tools/shop.find_customer"' in shown
        assert "Finds a customer by name." in shown
        assert "writes elsewhere" in shown
        assert "cannot be undone" in shown


async def test_a_search_says_why_each_was_found_and_what_it_costs(console: Browser) -> None:
    await offers(console, FIND, DROP)

    text = await console.sees("/tools?q=find+a+customer")
    part = (await console.get("/tools/body?q=find+a+customer", part=True)).body.decode()

    for shown in (text, part):
        assert 'href="/tools/shop.find_customer"' in shown
        assert "Matched customer in name, description" in words(shown)
        assert "instead of" in shown
        assert "has no part in it" in shown


async def test_a_server_is_switched_off_and_on_from_the_list(console: Browser) -> None:
    await offers(console, FIND)

    assert await console.does("/tools/switch", {"server": "shop", "to": "off"}) == "/tools?done=off"
    off = await console.sees("/tools?done=off")
    await console.does("/tools/switch", {"server": "shop", "to": "on"})

    assert "switched off" in off
    assert "switched off" not in await console.sees("/tools")


async def test_the_page_of_a_tool_says_what_it_takes_and_what_a_call_would_meet(
    console: Browser,
) -> None:
    await offers(console, FIND)

    text = await console.sees(PAGE)

    assert "As it is written." in text
    assert 'name="arg.name"' in text
    assert "whole number" in text
    assert "runs at once" in text
    assert "Never called." in text
    assert "portico call shop.find_customer" in text


async def test_a_tool_is_tried_once_with_what_the_form_says(console: Browser) -> None:
    await offers(console, FIND)
    fields = {"tool": "shop.find_customer", "arg.name": "Ana", "arg.limit": "3", "arg.tags": "a\nb"}
    fields["once"] = once_in(await console.sees(PAGE))

    answer = await console.post("/tools/call", fields)
    again = await console.post("/tools/call", fields, (b"hx-request", b"true"))

    assert answer.status == 200
    assert b"shop.find_customer was called" in answer.body
    assert b"This form was sent before." in again.body
    assert (b"<html" in again.body, b'id="tool-try"' in again.body) == (False, True)
    given = {"name": "Ana", "limit": 3, "tags": ["a", "b"]}
    assert console.site.upstreams.called == [(ToolRef("shop", "find_customer"), given)]
    assert "Never called." not in await console.sees(PAGE)


async def test_raw_json_is_taken_instead(console: Browser) -> None:
    await offers(console, FIND)
    fields = {"tool": "shop.find_customer", "as_raw": "1", "raw": '{"name": "Ana"}'}

    answer = await console.post("/tools/call", fields)

    assert b"was called" in answer.body
    assert console.site.upstreams.called[0][1] == {"name": "Ana"}


async def test_what_cannot_be_sent_is_drawn_again_with_what_is_wrong(console: Browser) -> None:
    await offers(console, FIND)

    for fields, told in (
        ({"arg.name": "Ana", "arg.limit": "many"}, "must be a whole number"),
        ({"arg.limit": "3"}, "name"),
        ({"as_raw": "1", "raw": "{nothing"}, "is not valid JSON"),
        ({"as_raw": "1", "raw": "[1]"}, "must be an object"),
    ):
        answer = await console.post("/tools/call", {"tool": "shop.find_customer", **fields})

        assert answer.status == 422, fields
        assert [it for it in (told, *fields.values()) if it not in answer.body.decode()] == []
    assert console.site.upstreams.called == []


async def test_what_needs_approval_leads_to_the_inbox() -> None:
    console = console_of(await built(rules=()))
    await console.log_in()
    await offers(console, DROP)

    page = await console.sees("/tools/shop.delete_customer")
    fields = {"tool": "shop.delete_customer", "arg.id": "cus-1"}
    answer = await console.post("/tools/call", fields)

    assert "needs approval" in page
    assert b"It needs approval." in answer.body
    assert b'href="/inbox"' in answer.body
    assert console.site.upstreams.called == []


async def test_a_long_answer_is_read_on(console: Browser) -> None:
    await offers(console, FIND)
    console.site.upstreams.replies[ToolRef("shop", "find_customer")] = says("word " * 10_000)

    answer = await console.post("/tools/call", {"tool": "shop.find_customer", "arg.name": "Ana"})
    link = answer.body.decode().partition('href="/tools/result?')[2].partition('"')[0]
    page = await console.sees(f"/tools/result?{link.replace('&amp;', '&')}")

    assert "Page 2 of 3" in page


async def test_an_effect_is_set_for_one_tool(console: Browser) -> None:
    await offers(console, FIND, DROP)

    led = await console.does("/tools/effect", {"tool": "shop.find_customer", "effect": "pure"})

    assert led == f"{PAGE}?done=effect"
    assert "The effect is set" in await console.sees(led)
    shown = (await console.site.ask("GET", "/api/v1/tools/shop.find_customer")).json
    assert shown["effect"] == "pure"


async def test_a_rule_for_one_tool_takes_the_place_of_the_one_before(console: Browser) -> None:
    await offers(console, FIND)

    for setting in ("ask", "never", "default"):
        await console.does("/tools/rule", {"tool": "shop.find_customer", "setting": setting})
        rules = (await console.site.ask("GET", "/api/v1/policy/rules")).json["data"]
        own = [rule["decision"] for rule in rules if rule["tools"] == ["shop.find_customer"]]
        assert own == {"ask": ["ask"], "never": ["deny"], "default": []}[setting]


async def test_a_tool_that_is_named_like_a_pattern_stands_for_itself_alone(
    console: Browser,
) -> None:
    await offers(console, FIND, {**DROP, "name": "*"})

    listed = await console.sees("/tools?open=shop")
    page = await console.get("/tools/shop.%2A")
    for path, fields in (("effect", {"effect": "pure"}), ("rule", {"setting": "never"})):
        answer = await console.post(f"/tools/{path}", {"tool": "shop.*", **fields})
        assert answer.status in {404, 422}

    assert "cannot be used" in listed
    assert page.status == 404
    shown = (await console.site.ask("GET", "/api/v1/tools/shop.find_customer")).json
    assert shown["effect"] != "pure"


async def test_what_was_learnt_stands_beside_the_tool(console: Browser) -> None:
    await handed_on(console)

    text = await console.sees(PAGE)

    assert "Comes after it" in text
    assert 'href="/tools/shop.delete_customer"' in text
    assert "json.id becomes id" in text


async def test_a_thousand_tools_are_sent_in_small_pieces(console: Browser) -> None:
    many = [{**FIND, "name": f"find_{n}", "description": "Finds it. " * 30} for n in range(130)]
    await offers(console, *many)

    page = await console.get("/tools")
    piece = await console.get("/tools/group?server=shop", part=True)

    assert len(page.body) < 50_000
    assert len(piece.body) < 50_000
    assert b"start=60" in piece.body
