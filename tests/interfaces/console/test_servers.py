"""Servers: added by pasting, allowed, let in with what is proposed, looked after, taken away."""

from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.launch import check_launch, shown, to_json
from portico.interfaces.console.screens.servers import Reading, read_paste
from portico.testing.gateway import seen
from tests.interfaces.console.bridge_scene import words
from tests.interfaces.console.conftest import Browser, somebody
from tests.interfaces.console.shop import DROP, FIND, LAUNCH, offers, once_in, pin_in


async def test_a_pasted_block_is_looked_at_before_it_is_added(console: Browser) -> None:
    block = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}'

    looked = await console.post("/servers/_add", {"step": "look", "text": block})

    assert looked.status == 200
    assert b"uvx mcp-server-time" in looked.body
    assert "No servers yet." in await console.sees("/servers")


async def test_one_is_added_once_and_is_not_started(console: Browser) -> None:
    fields = {
        "step": "add",
        "text": "uvx mcp-server-time",
        "take": "time",
        "once": once_in(await console.sees("/servers/_add")),
    }

    first = await console.does("/servers/_add", fields)
    again = await console.does("/servers/_add", fields)

    assert first == again == "/servers/time?done=added"
    assert console.site.upstreams.looked == []
    page = await console.sees(first)
    assert "It waits to be allowed" in page
    assert "uvx mcp-server-time" in page


async def test_of_several_those_that_can_be_are_added(console: Browser) -> None:
    await offers(console, FIND)
    block = '{"shop": {"command": "x"}, "web": {"url": "https://x.example/mcp"}}'
    fields = {"step": "add", "text": block, "take": ["shop", "web"], "once": "k1"}

    answer = await console.post("/servers/_add", fields)

    assert answer.status == 409
    assert b"There is a server" in answer.body
    assert 'href="/servers/web"' in await console.sees("/servers")


async def test_it_is_allowed_then_let_in_with_the_proposed_reads(console: Browser) -> None:
    await console.site.ask("POST", "/api/v1/servers", {"name": "shop", "launch": LAUNCH})
    look = {**DROP, "name": "get_customer", "description": "Gets a customer."}
    console.site.upstreams.offers["shop"] = seen(look, DROP)

    page = await console.sees("/servers/shop")
    allowed = await console.does("/servers/shop/allow", {"pin": pin_in(page)})
    waiting = await console.sees(allowed)
    fields = {"pin": pin_in(waiting), "proposed": "reads"}
    accepted = await console.does("/servers/shop/accept", fields)

    assert 'data-key="a"' in page
    assert "2 tools wait to be let in" in waiting
    assert 'data-key="a"' in waiting
    done = await console.sees(accepted)
    assert "Its tools can be found and called." in done
    assert "1 tool was let in with an unknown effect" in done


async def test_effects_are_chosen_one_by_one(console: Browser) -> None:
    await console.site.ask("POST", "/api/v1/servers", {"name": "shop", "launch": LAUNCH})
    console.site.upstreams.offers["shop"] = seen(FIND, DROP)
    page = await console.sees("/servers/shop")
    await console.does("/servers/shop/allow", {"pin": pin_in(page)})

    review = await console.sees("/servers/shop/review")
    fields = {
        "pin": pin_in(review),
        "effect.find_customer": "local_write",
        "effect.delete_customer": "skip",
    }
    await console.does("/servers/shop/review", fields)
    nothing = await console.post(
        "/servers/shop/review", {"pin": pin_in(review), "effect.delete_customer": "skip"}
    )

    tools = (await console.site.ask("GET", "/api/v1/tools")).json["data"]
    assert {each["tool"]: (each["standing"], each["effect"]) for each in tools} == {
        "shop.find_customer": ("live", "local_write"),
        "shop.delete_customer": ("new", "unknown"),
    }
    assert nothing.status == 422


async def test_what_has_changed_is_quarantined_and_shown_place_by_place(console: Browser) -> None:
    await offers(console, FIND)
    console.site.upstreams.offers["shop"] = seen({**FIND, "description": "Finds and sends."})

    led = await console.does("/servers/shop/restart")
    page = await console.sees(led)

    assert "quarantined: changed" in page
    told = unescape(words(page))
    assert 'Before Now description "Finds a customer by name." "Finds and sends."' in told
    assert "1 quarantined" in await console.sees("/servers")


async def test_what_does_not_start_says_so_on_its_page(console: Browser) -> None:
    await offers(console, FIND)
    console.site.upstreams.dead.add("shop")

    answer = await console.post("/servers/shop/restart")

    assert answer.status == 503
    assert UpstreamDown.title in unescape(answer.body.decode())
    assert "failed last" in await console.sees("/servers")


async def test_it_is_switched_labelled_confined_and_removed(console: Browser) -> None:
    await offers(console, FIND)

    for path, fields in (
        ("switch", {"to": "off"}),
        ("switch", {"to": "on"}),
        ("label", {"label": "team", "clearance": "confidential", "trusted": "1"}),
        ("profile", {"which": "own", "network": "none", "read": "/srv/data"}),
        ("profile", {"which": "default"}),
    ):
        led = await console.does(f"/servers/shop/{path}", fields)
        assert led.startswith("/servers/shop?done=")
        assert 'role="status"' in await console.sees(led)

    shown = (await console.site.ask("GET", "/api/v1/servers/shop")).json
    assert (shown["label"], shown["clearance"], shown["trusted"]) == ("team", "confidential", True)
    assert "Remove shop?" in await console.sees("/servers/shop/remove")
    assert await console.does("/servers/shop/remove") == "/servers?done=removed"
    assert (await console.get("/servers/shop")).status == 404


async def test_what_is_not_possible_is_told_on_the_page(console: Browser) -> None:
    await offers(console, FIND)

    for path, fields in (
        ("label", {"label": "secret", "clearance": "team"}),
        ("profile", {"which": "own", "network": "all"}),
        ("profile", {"which": "own", "network": "none", "read": "not/whole"}),
        ("switch", {"to": "sideways"}),
        ("login", {}),
        ("allow", {"pin": "another"}),
    ):
        answer = await console.post(f"/servers/shop/{path}", fields)

        assert answer.status in {409, 422}, path
        assert b'role="alert"' in answer.body, path
        assert b"<h1" in answer.body, path


async def test_its_last_words_are_for_those_who_approve(console: Browser) -> None:
    await offers(console, FIND)
    console.site.upstreams.last_words["shop"] = ["listening"]
    bob = await somebody(console, "bob")

    mine, his = await console.sees("/servers/shop"), await bob.sees("/servers/shop")
    part = (await console.get("/servers/shop/vitals", part=True)).body.decode()

    for text in (mine, part):
        assert "listening" in text
    assert "listening" not in his


async def test_the_list_is_asked_for_again_as_a_part(console: Browser) -> None:
    await offers(console, FIND)
    await console.does("/servers/shop/switch", {"to": "off"})

    part = (await console.get("/servers/_list", part=True)).body.decode()
    off = await console.sees("/servers?only=off")
    look = await console.sees("/servers?only=attention")

    assert "<html" not in part
    assert 'hx-trigger="every 5s"' in part
    assert 'href="/servers/shop"' in off
    assert 'id="server-shop"' not in look


async def test_a_long_review_is_sent_in_pieces(console: Browser) -> None:
    many = [{**FIND, "name": f"find_{n}"} for n in range(100)]
    await console.site.ask("POST", "/api/v1/servers", {"name": "shop", "launch": LAUNCH})
    console.site.upstreams.offers["shop"] = seen(*many)
    page = await console.sees("/servers/shop")
    await console.does("/servers/shop/allow", {"pin": pin_in(page)})

    whole, review = await console.get("/servers/shop"), await console.get("/servers/shop/review")

    assert len(whole.body) < 50_000
    assert len(review.body) < 50_000
    assert b"start=40" in review.body


OWN = "http://127.0.0.1:3100"
TOKEN = "ghp_" + "0123456789abcdefghijklmnop"  # nobody's


def read(text: str, name: str | None = None) -> Reading:
    return read_paste(text, name=name, own_url=OWN)


@pytest.mark.parametrize(
    ("text", "names", "command"),
    [
        ("uvx mcp-server-time", ["time"], "uvx mcp-server-time"),
        ("$ uvx mcp-server-time@2026.1", ["time"], "uvx mcp-server-time@2026.1"),
        (
            "npx -y @modelcontextprotocol/server-github",
            ["github"],
            "npx -y @modelcontextprotocol/server-github",
        ),
        ("TZ=UTC python serve_it.py", ["serve-it"], "TZ=UTC python serve_it.py"),
        ("https://mcp.linear.app/mcp", ["linear"], "https://mcp.linear.app/mcp"),
        ('{"mcpServers": {"A b": {"command": "x"}}}', ["a-b"], "x"),
        ('{"servers": {"a": {"command": "x", "args": ["y"]}}}', ["a"], "x y"),
        ('"mcpServers": {"a": {"command": "x"}},', ["a"], "x"),
        ('{"a": {"command": "x"}} // mine', ["a"], "x"),
        ('{"command": "npx", "args": ["foo-mcp"]}', ["foo"], "npx foo-mcp"),
        ('{"a": {"command": "x", "env": {"K": "${K}"}}}', ["a"], "K=${K} x"),
        ('{"a": {"command": "x", "env": {"K": "secret:k"}}}', ["a"], "K=${secret:k} x"),
        ('{"a": {"command": "x", "env": {"LANG": "de"}}}', ["a"], "LANG=de x"),
    ],
)
def test_a_block_a_command_and_an_address_are_understood(
    text: str, names: list[str], command: str
) -> None:
    found = read(text)

    assert found.flawed == []
    assert [each.name for each in found.servers] == names
    assert found.servers[0].command == command


def test_a_name_that_is_given_is_taken() -> None:
    assert [each.name for each in read("uvx mcp-server-time", "clock").servers] == ["clock"]


@pytest.mark.parametrize(
    "text",
    [
        f'{{"a": {{"command": "x", "env": {{"GITHUB_TOKEN": "{TOKEN}"}}}}}}',
        f'{{"a": {{"command": "x", "args": ["--token", "{TOKEN}"]}}}}',
        f'{{"a": {{"url": "https://x.example/mcp", "headers": {{"Authorization": "{TOKEN}"}}}}}}',
        f'{{"a": {{"url": "https://x.example/mcp?key={TOKEN}"}}}}',
        '{"a": {"command": "x", "env": {"API_KEY": "hunter2hunter2"}}}',
        f"GITHUB_TOKEN={TOKEN} npx thing",
    ],
)
def test_a_secret_is_not_taken_and_not_told(text: str) -> None:
    found = read(text)

    assert found.servers == []
    [flaw] = found.flawed
    assert TOKEN not in flaw.reason
    assert "hunter2" not in flaw.reason


@pytest.mark.parametrize(
    "text",
    ["", "{", "{}", "[]]", '{"a": 1}', "A=b", "'open", '{"mcpServers": []}', "null", "\x00", "}{"],
)
def test_what_is_no_server_says_why(text: str) -> None:
    found = read(text)

    assert found.flawed or all(shown(each.launch) for each in found.servers)


def test_portico_itself_is_not_put_behind_its_own_door() -> None:
    found = read(f'{{"portico": {{"url": "{OWN}/mcp"}}}}')

    assert found.servers == []
    assert found.flawed


def test_two_of_one_name_are_told_apart() -> None:
    found = read('{"a b": {"command": "x"}, "A-B": {"command": "y"}}')

    assert len({each.name for each in found.servers}) == 2


@given(st.text(max_size=200))
def test_whatever_is_pasted_is_answered(text: str) -> None:
    found = read(text)

    for each in found.servers:
        check_launch(each.launch)
        assert to_json(each.launch)
