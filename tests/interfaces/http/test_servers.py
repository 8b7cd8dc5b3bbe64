"""Servers over REST: added, approved, switched, looked at, held to what they may reach, taken
away; and their tools, which are called."""

from datetime import timedelta

from portico.gateway.core.calls import Called, CallId
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.reserved_metadata import marked
from portico.interfaces.http.calls import answer_out
from portico.kernel.json import JsonObject
from portico.testing.gateway import seen, text
from tests.interfaces.http.conftest import Site

LAUNCH = {"type": "stdio", "command": "serve", "arguments": ["--all"], "environment": {}}
TOOL: JsonObject = {
    "name": "read_file",
    "description": "Reads a file.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
    "annotations": {"readOnlyHint": True},
}


async def approved(site: Site) -> None:
    site.upstreams.offers["files"] = seen(TOOL)
    made = await site.ask("POST", "/api/v1/servers", {"name": "files", "launch": LAUNCH})
    pin = {"launch_pin": made.json["launch_pin"]}
    await site.ask("POST", "/api/v1/servers/files/approve-launch", pin)
    await site.ask("POST", "/api/v1/servers/files/restart")
    review = await site.ask("GET", "/api/v1/servers/files/review")
    body = {"pin": review.json["pin"], "proposed": "all"}
    accepted = await site.ask("POST", "/api/v1/servers/files/accept", body)
    assert accepted.json["approved"], accepted.json


async def test_a_server_is_added_and_not_started(site: Site) -> None:
    made = await site.ask("POST", "/api/v1/servers", {"name": "files", "launch": LAUNCH})

    assert made.status == 201
    assert made.json["command"] == "serve --all"
    assert not made.json["launch_approved"]
    assert site.upstreams.looked == []


async def test_a_server_is_approved_in_two_acts_and_then_found(site: Site) -> None:
    await approved(site)

    [server] = (await site.ask("GET", "/api/v1/servers")).json
    found = await site.ask("POST", "/api/v1/search", {"queries": ["read a file"]})

    assert server["tools"] == {"live": 1}
    assert found.json["fits"]
    assert found.json["hits"][0]["tool"] == "files.read_file"
    assert found.json["hits"][0]["call_with"] == "call_read"


async def test_an_approval_of_what_has_moved_is_refused(site: Site) -> None:
    await site.ask("POST", "/api/v1/servers", {"name": "files", "launch": LAUNCH})

    refused = await site.ask(
        "POST", "/api/v1/servers/files/approve-launch", {"launch_pin": "another"}
    )

    assert (refused.status, refused.json["code"]) == (409, "pin_moved")


async def test_a_server_is_switched_off_and_on(site: Site) -> None:
    await approved(site)

    off = await site.ask("POST", "/api/v1/servers/files/disable")
    gone = await site.ask("POST", "/api/v1/calls", {"tool": "files.read_file"})
    on = await site.ask("POST", "/api/v1/servers/files/enable")

    assert not off.json["enabled"]
    assert (gone.status, gone.json["code"]) == (409, "server_disabled")
    assert on.json["approved"]


async def test_its_last_words_are_shown(site: Site) -> None:
    await approved(site)
    site.upstreams.last_words["files"] = ["listening"]

    logs = await site.ask("GET", "/api/v1/servers/files/logs")

    assert logs.json == {"lines": ["listening"]}


async def test_a_server_is_removed_with_its_tools(site: Site) -> None:
    await approved(site)

    removed = await site.ask("DELETE", "/api/v1/servers/files")
    listed = await site.ask("GET", "/api/v1/tools")

    assert removed.status == 204
    assert listed.json["data"] == []


async def test_a_server_says_how_secret_it_is_and_is_told(site: Site) -> None:
    await approved(site)

    put = await site.ask(
        "PUT", "/api/v1/servers/files/label", {"label": "confidential", "trusted": True}
    )

    assert put.json == {"label": "confidential", "clearance": "team", "trusted": True}
    shown = (await site.ask("GET", "/api/v1/servers/files")).json
    assert (shown["label"], shown["clearance"], shown["trusted"]) == ("confidential", "team", True)


async def test_a_label_that_is_none_is_refused(site: Site) -> None:
    await approved(site)

    for body in ({"label": "secret"}, {"label": "team+"}, {"trusted": "yes"}, {"lable": "team"}):
        answer = await site.ask("PUT", "/api/v1/servers/files/label", body)
        assert answer.status == 422, body


async def test_effects_are_set_by_a_pattern_of_names(site: Site) -> None:
    await approved(site)

    body = {"tools": "files.*", "effect": "local_write"}
    put = await site.ask("PUT", "/api/v1/effects", body)
    nothing = await site.ask("PUT", "/api/v1/effects", {**body, "tools": "nobody.*"})

    assert put.json == [
        {"tool": "files.read_file", "before": "external_read", "after": "local_write"}
    ]
    assert nothing.status == 404
    assert (await site.ask("GET", "/api/v1/tools/files.read_file")).json["effect"] == (
        "local_write"
    )


READ = ToolRef("files", "read_file")


async def test_tools_are_listed_with_how_they_stand_and_shown_as_they_are_said(site: Site) -> None:
    await approved(site)

    [tool] = (await site.ask("GET", "/api/v1/tools")).json["data"]
    none = await site.ask("GET", "/api/v1/tools", query="standing=changed")
    shown = await site.ask("GET", "/api/v1/tools/files.read_file")

    assert (tool["tool"], tool["standing"]) == ("files.read_file", "live")
    assert none.json["data"] == []
    assert shown.json["definition"] == TOOL


async def test_a_call_gives_what_the_tool_gives(site: Site) -> None:
    await approved(site)
    site.upstreams.replies[READ] = text("the text")

    called = await site.ask(
        "POST", "/api/v1/calls", {"tool": "files.read_file", "arguments": {"path": "a"}}
    )
    [call] = (await site.ask("GET", "/api/v1/calls")).json["data"]
    [figures] = (await site.ask("GET", "/api/v1/figures", query="server=files")).json

    assert called.json["content"] == [{"type": "text", "text": "the text"}]
    assert (call["tool"], call["outcome"]) == ("files.read_file", "done")
    assert (figures["name"], figures["calls"], figures["error_rate"]) == ("read_file", 1, 0)


async def test_a_call_that_does_not_fit_its_tool_is_refused(site: Site) -> None:
    await approved(site)
    call = {"tool": "files.read_file"}

    misfit = await site.ask("POST", "/api/v1/calls", call | {"arguments": {"path": 1}})
    wrong = await site.ask("POST", "/api/v1/calls", call | {"call_with": "call_write"})

    assert (misfit.status, misfit.json["code"]) == (422, "bad_arguments")
    assert (wrong.status, wrong.json["code"]) == (403, "wrong_verb")


async def test_a_long_answer_is_read_page_by_page(site: Site) -> None:
    await approved(site)
    site.upstreams.replies[READ] = text("word " * 10_000)

    called = await site.ask("POST", "/api/v1/calls", {"tool": "files.read_file"})
    page = await site.ask("GET", f"/api/v1/results/{called.json['result']}", query="page=2")

    assert (page.json["page"], page.json["pages"]) == (2, 3)


def test_an_answer_that_was_read_ahead_says_how_old_it_is() -> None:
    call = CallId.of_digest(b"one")

    assert answer_out(Called(marked(text("old"), timedelta(seconds=2)), call)).age_ms == 2_000
    assert answer_out(Called(text("new"), call)).age_ms is None


CONFINED = {
    "type": "stdio",
    "command": "npx",
    "arguments": ["-y", "@modelcontextprotocol/server-github", "/srv/notes"],
    "environment": {},
}
WHERE = "/api/v1/servers/notes/profile"
DEFAULT = {"read": [], "write": ["/srv/notes"], "network": "public", "reach": []}
NARROW = {"read": ["/srv/keys"], "write": [], "network": "none", "reach": ["127.0.0.1:8080"]}


async def confined(site: Site) -> str:
    made = await site.ask("POST", "/api/v1/servers", {"name": "notes", "launch": CONFINED})
    return str(made.json["launch_pin"])


async def test_a_profile_is_shown_set_and_taken_back(site: Site) -> None:
    await confined(site)

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
    await confined(site)
    await site.ask("PUT", WHERE, NARROW)

    [listed] = (await site.ask("GET", "/api/v1/servers")).json
    review = await site.ask("GET", "/api/v1/servers/notes/review")

    assert listed["confinement"] == review.json["confinement"]
    assert listed["confinement"]["profile"] == NARROW


async def test_what_is_no_profile_is_refused_and_what_runs_elsewhere_has_none(site: Site) -> None:
    far = {"type": "http", "url": "https://far.example/mcp"}
    await confined(site)
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
    pin = await confined(site)
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
