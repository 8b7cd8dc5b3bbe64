"""Secrets over REST: in, listed, away, and never out."""

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from dirty_equals import IsPartialDict, IsStr
from inline_snapshot import snapshot

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import UpstreamWantsLogin
from portico.guard.core.tokens import EVERY, grants_of
from portico.interfaces.http.authentication import METADATA, ProtectedResource
from portico.kernel.json import JsonObject
from portico.testing.gateway import seen
from tests.interfaces.http.asgi import Answer, ask, bearing
from tests.interfaces.http.conftest import HOST, Site

WHERE = "/api/v1/secrets"
CANARY = "canary-http-77aa01"


async def test_a_secret_is_set_listed_and_unset(site: Site) -> None:
    launch = {
        "type": "stdio",
        "command": "x",
        "environment": {"TOKEN": {"secret": "secret:github"}},
    }
    await site.ask("POST", "/api/v1/servers", {"name": "tracker", "launch": launch})

    made = await site.ask("PUT", f"{WHERE}/github", {"value": CANARY})
    listed = await site.ask("GET", WHERE)
    gone = await site.ask("DELETE", f"{WHERE}/github")
    twice = await site.ask("DELETE", f"{WHERE}/github")

    assert made.status == 200
    assert (made.json["name"], made.json["where"]) == ("github", "memory")
    assert made.json["used_by"] == ["tracker"]
    assert listed.json == [made.json]
    assert CANARY not in repr((made.json, listed.json))
    assert (gone.status, twice.status) == (204, 404)
    assert twice.json["code"] == "secret_not_found"


async def test_what_is_no_secret_is_refused_and_not_repeated(site: Site) -> None:
    for name, body in [
        ("github", {"value": ""}),
        ("github", {"value": "x" * 20_000}),
        ("github", {"value": 12}),
        ("github", {"value": CANARY, "wher": "age"}),
        ("github", {}),
        ("-github", {"value": CANARY}),
        ("github", {"value": f"{CANARY}\x00"}),
    ]:
        refused = await site.ask("PUT", f"{WHERE}/{name}", body)

        assert refused.status == 422, body
        assert CANARY not in repr(refused.json)
        assert "xxxx" not in repr(refused.json)


LAUNCH = {"type": "http", "url": "https://tools.example/mcp"}
TOOL: JsonObject = {
    "name": "look",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}
SERVER = "/api/v1/servers/tools"
RESOURCE = ProtectedResource(
    resource="https://portico.example/mcp",
    base_url="https://portico.example",
    issuers=["https://login.example"],
    grants=grants_of({"portico:viewer": ["viewer"], "portico:admin": ["admin"], EVERY: []}),
)


async def let_in(site: Site) -> None:
    site.upstreams.offers["tools"] = seen(TOOL)
    made = await site.ask("POST", "/api/v1/servers", {"name": "tools", "launch": LAUNCH})
    pin = {"launch_pin": made.json["launch_pin"]}
    await site.ask("POST", f"{SERVER}/approve-launch", pin)
    await site.ask("POST", f"{SERVER}/restart")
    review = await site.ask("GET", f"{SERVER}/review")
    accepted = await site.ask("POST", f"{SERVER}/accept", {"pin": review.json["pin"]})
    assert accepted.json["approved"], accepted.json


async def a_link(site: Site) -> str:
    await let_in(site)
    link: str = (await site.ask("POST", f"{SERVER}/login")).json["login_url"]
    return link


async def wanted(site: Site, link: str) -> Answer:
    """As a browser does it when the button is pressed."""
    headers = [HOST, (b"origin", b"http://127.0.0.1:3100")]
    query = urlsplit(link).query
    return await ask(site.app, "POST", "/oauth/login", headers=headers, query=query)


async def back(
    site: Site, link: str, *, asked: bool = True, at: str | None = None, **other: str
) -> Answer:
    """As a browser comes back: without any key, with what it was given when somebody was asked."""
    state = parse_qs(urlsplit(link).query)["state"][0]
    sent = await wanted(site, link)
    there = parse_qs(urlsplit(sent.headers["location"]).query)["redirect_uri"][0]
    cookie = (b"cookie", sent.headers["set-cookie"].partition(";")[0].encode())
    given = {"state": state, "code": "c", "iss": "https://login.example", **other}
    return await ask(
        site.app,
        "GET",
        at or urlsplit(there).path,
        headers=[HOST, cookie] if asked else [HOST],
        query=urlencode(given),
    )


async def test_somebody_logs_in_sees_it_and_logs_out(site: Site) -> None:
    page = await back(site, await a_link(site))
    during = await site.ask("GET", f"{SERVER}/login")
    out = await site.ask("DELETE", f"{SERVER}/login")
    after = await site.ask("GET", f"{SERVER}/login")

    assert page.status == 200
    assert b"use tools for ana" in page.body
    assert during.json == IsPartialDict(
        server="tools", logged_in=True, issuer="https://login.example", renewed=True
    )
    assert (out.status, after.json["logged_in"]) == (204, False)


async def test_a_call_without_a_login_tells_where_to_log_in(site: Site) -> None:
    await let_in(site)
    site.upstreams.replies[ToolRef("tools", "look")] = UpstreamWantsLogin("tools", "Bearer")

    refused = await site.ask("POST", "/api/v1/calls", {"tool": "tools.look"})

    assert refused.status == 403
    assert refused.json["code"] == "login_needed"
    assert refused.json["login_url"].startswith("http://127.0.0.1:3100/oauth/login?")
    assert refused.json["expires_at"]
    assert (await back(site, refused.json["login_url"])).status == 200


async def test_who_opens_a_link_sees_whom_it_is_for_before_they_go_on(site: Site) -> None:
    link = await a_link(site)

    query = urlsplit(link).query
    page = await ask(site.app, "GET", "/oauth/login", headers=[HOST], query=query)
    again = await ask(site.app, "GET", "/oauth/login", headers=[HOST], query=query)
    strange = await ask(site.app, "GET", "/oauth/login", headers=[HOST], query="state=x")

    assert page.status == again.status == 200
    assert b"Go on only if you are ana" in page.body
    assert b"login.example/authorize" not in page.body
    assert b'<form method="post" action="/oauth/login?state=' in page.body
    assert "set-cookie" not in page.headers
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "same-origin"
    assert strange.status == 404


async def test_who_says_so_is_sent_on_with_a_cookie_for_this_login_alone(site: Site) -> None:
    first = await a_link(site)
    second = (await site.ask("POST", f"{SERVER}/login")).json["login_url"]

    sent, other = await wanted(site, first), await wanted(site, second)
    strange = await wanted(site, "https://x?state=x")

    assert sent.status == 303
    assert sent.headers["location"].startswith("https://login.example/authorize?")
    name, _, rest = sent.headers["set-cookie"].partition("=")
    assert rest.endswith("; HttpOnly; Max-Age=600; Path=/oauth; SameSite=lax")
    assert other.headers["set-cookie"].partition("=")[0] != name
    assert (strange.status, "set-cookie" in strange.headers) == (404, False)


@pytest.mark.requirement("guard:logins:own-token")
async def test_whoever_is_sent_past_the_question_logs_nobody_in(site: Site) -> None:
    """Somebody opens their own link, takes the address behind it, and sends that to a victim."""
    link = await a_link(site)

    page = await back(site, link, asked=False)

    assert page.status == 403
    assert b"nobody in front of this browser was asked" in page.body
    assert not (await site.ask("GET", f"{SERVER}/login")).json["logged_in"]


async def test_a_click_on_somebody_elses_page_says_nothing_for_whoever_made_it(site: Site) -> None:
    query = urlsplit(await a_link(site)).query

    for origin in (b"https://evil.example", b"null"):
        headers = [HOST, (b"origin", origin)]
        forged = await ask(site.app, "POST", "/oauth/login", headers=headers, query=query)
        assert (forged.status, "set-cookie" in forged.headers) == (403, False)


async def test_an_answer_at_the_address_of_another_server_logs_nobody_in(site: Site) -> None:
    page = await back(site, await a_link(site), at="/oauth/callback/srv_other")

    assert page.status == 403
    assert b"not from where you were sent" in page.body


async def test_who_may_only_read_neither_begins_nor_ends_a_login(site: Site) -> None:
    assert (await back(site, await a_link(site))).status == 200
    wish = {"name": "reads", "scopes": ["tools:read", "tools:call"]}
    reads = (await site.ask("POST", "/api/v1/keys", wish)).json["key"]
    site.upstreams.replies[ToolRef("tools", "look")] = UpstreamWantsLogin("tools", "Bearer")

    begun = await site.ask("POST", f"{SERVER}/login", key=reads)
    ended = await site.ask("DELETE", f"{SERVER}/login", key=reads)
    called = await site.ask("POST", "/api/v1/calls", {"tool": "tools.look"}, key=reads)
    looked = await site.ask("GET", f"{SERVER}/login", key=reads)

    assert [begun.json["code"], ended.json["code"]] == ["not_permitted"] * 2
    assert called.json["code"] == "upstream_down"
    assert "tools:write" in called.json["fix"]
    assert "login_url" not in called.json
    assert looked.json["logged_in"]


@pytest.mark.parametrize(
    ("other", "status", "words"),
    [
        ({"state": "somebody-elses"}, 404, b"No such login"),
        ({"iss": "https://evil.example"}, 403, b"not from where you were sent"),
        ({"error": "<script>"}, 403, b"&lt;script&gt;"),
        ({"code": ""}, 403, b"nothing along"),
    ],
)
async def test_a_browser_that_comes_back_with_something_else_logs_nobody_in(
    site: Site, other: dict[str, Any], status: int, words: bytes
) -> None:
    link = await a_link(site)

    page = await back(site, link, **other)

    assert page.status == status
    assert words in page.body
    assert b"<script>" not in page.body
    assert not (await site.ask("GET", f"{SERVER}/login")).json["logged_in"]


async def test_an_operator_says_as_what_portico_is_known(site: Site) -> None:
    await let_in(site)
    said = {"client_id": "ours", "client_secret": "secret:tools", "issuer": "http://127.0.0.1:9"}

    made = await site.ask("PUT", f"{SERVER}/login-client", said)
    plain = await site.ask("PUT", f"{SERVER}/login-client", {"client_secret": "hunter2"})
    gone = await site.ask("DELETE", f"{SERVER}/login-client")

    there = IsStr(regex=r"http://127\.0\.0\.1:3100/oauth/callback/srv_\w+")
    assert made.json == {**said, "server": "tools", "scope": None, "redirect_url": there}
    assert plain.status == 422
    assert gone.status == 204


async def test_a_server_that_has_its_credentials_takes_no_logins(site: Site) -> None:
    launch = {**LAUNCH, "headers": {"Authorization": {"env": "TOKEN"}}}
    made = await site.ask("POST", "/api/v1/servers", {"name": "tools", "launch": launch})
    await site.ask("POST", f"{SERVER}/approve-launch", {"launch_pin": made.json["launch_pin"]})

    refused = await site.ask("POST", f"{SERVER}/login")

    assert (refused.status, refused.json["code"]) == (409, "no_logins")


async def test_where_tokens_come_from_is_told_to_everybody_who_has_none(site: Site) -> None:
    app = site.rebuilt(resource=RESOURCE)

    documents = [
        await ask(app, "GET", path, headers=[HOST]) for path in (METADATA, f"{METADATA}/mcp")
    ]
    stranger = await ask(app, "GET", "/api/v1/status", headers=[HOST])

    assert (
        documents[0].json
        == documents[1].json
        == snapshot(
            {
                "resource": "https://portico.example/mcp",
                "authorization_servers": ["https://login.example"],
                "scopes_supported": ["portico:admin", "portico:viewer"],
                "bearer_methods_supported": ["header"],
                "resource_name": "Portico",
            }
        )
    )
    assert stranger.status == 401
    assert stranger.headers["www-authenticate"] == snapshot(
        'Bearer realm="portico", '
        'resource_metadata="https://portico.example/.well-known/oauth-protected-resource/mcp"'
    )


async def test_whoever_may_too_little_is_told_which_scope_to_ask_for(site: Site) -> None:
    app = site.rebuilt(resource=RESOURCE)
    wish = {"name": "few", "scopes": ["status:read"]}
    few = (await site.ask("POST", "/api/v1/keys", wish)).json["key"]

    refused = await ask(app, "GET", "/api/v1/servers", headers=bearing(few))

    assert refused.status == 403
    assert refused.headers["www-authenticate"] == snapshot(
        'Bearer realm="portico", error="insufficient_scope", scope="portico:viewer", '
        'resource_metadata="https://portico.example/.well-known/oauth-protected-resource/mcp"'
    )


async def test_where_no_tokens_are_taken_nobody_is_told_of_any(site: Site) -> None:
    document = await ask(site.app, "GET", METADATA, headers=[HOST])
    stranger = await ask(site.app, "GET", "/api/v1/status", headers=[HOST])

    assert document.status == 404
    assert stranger.headers["www-authenticate"] == 'Bearer realm="portico"'
