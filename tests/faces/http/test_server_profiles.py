"""What servers may reach, over REST."""

from tests.faces.http.conftest import Site

LAUNCH = {
    "type": "stdio",
    "command": "npx",
    "arguments": ["-y", "@modelcontextprotocol/server-github", "/srv/notes"],
    "environment": {},
}
WHERE = "/api/v1/servers/notes/profile"
DEFAULT = {"read": [], "write": ["/srv/notes"], "network": "public", "reach": []}
NARROW = {"read": ["/srv/keys"], "write": [], "network": "none", "reach": ["127.0.0.1:8080"]}


async def added(site: Site) -> str:
    made = await site.ask("POST", "/api/v1/servers", {"name": "notes", "launch": LAUNCH})
    return str(made.json["launch_pin"])


async def test_a_profile_is_shown_set_and_taken_back(site: Site) -> None:
    await added(site)

    before = await site.ask("GET", WHERE)
    during = await site.ask("PUT", WHERE, NARROW)
    after = await site.ask("DELETE", WHERE)

    assert before.json["default"] == before.json["profile"] == DEFAULT
    assert before.json["proposed"] == DEFAULT | {"network": "none", "reach": ["api.github.com:443"]}
    assert (before.json["hold"], before.json["stated"]) == ("boxed", False)
    assert before.json["command"].startswith("npx -y")
    assert (during.json["profile"], during.json["stated"]) == (NARROW, True)
    assert during.json["reaches"] == "network: 127.0.0.1:8080 · reads /srv/keys · own home"
    assert (after.json["profile"], after.json["stated"]) == (DEFAULT, False)


async def test_lists_and_reviews_have_it_too(site: Site) -> None:
    await added(site)
    await site.ask("PUT", WHERE, NARROW)

    [listed] = (await site.ask("GET", "/api/v1/servers")).json
    review = await site.ask("GET", "/api/v1/servers/notes/review")

    assert listed["confinement"] == review.json["confinement"]
    assert listed["confinement"]["profile"] == NARROW


async def test_what_is_no_profile_is_refused_and_what_runs_elsewhere_has_none(site: Site) -> None:
    far = {"type": "http", "url": "https://far.example/mcp"}
    await added(site)
    await site.ask("POST", "/api/v1/servers", {"name": "far", "launch": far})

    for body, code in [
        ({"read": ["notes"]}, "bad_profile"),
        ({"write": ["/"]}, "bad_profile"),
        ({"reach": ["nowhere"]}, "bad_place"),
        ({"network": "all"}, "invalid_request"),
        ({"reads": []}, "invalid_request"),
        ({"read": ["/a"] * 65}, "invalid_request"),
    ]:
        refused = await site.ask("PUT", WHERE, body)
        assert (refused.status, refused.json["code"]) == (422, code)
    shown = await site.ask("GET", "/api/v1/servers/far/profile")
    assert (shown.status, shown.json["code"]) == (409, "not_started_here")


async def test_a_consent_is_recorded_where_there_is_no_box(site: Site) -> None:
    pin = await added(site)
    body = {"launch_pin": pin, "unboxed": True}

    refused = await site.ask("POST", "/api/v1/servers/notes/approve-launch", body)
    site.walls.holds = False
    waiting = await site.ask("GET", WHERE)
    agreed = await site.ask("POST", "/api/v1/servers/notes/approve-launch", body)
    shown = await site.ask("GET", WHERE)

    assert (refused.status, refused.json["code"]) == (409, "unboxed_refused")
    assert (waiting.json["hold"], waiting.json["consent"]) == ("refused", None)
    assert agreed.json["launch_approved"]
    assert shown.json["hold"] == "unboxed"
    assert shown.json["consent"]["holds"]
    assert shown.json["consent"]["by"]
    assert shown.json["reaches"].startswith("NOT BOXED")
