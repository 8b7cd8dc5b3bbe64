"""Servers over REST: added, approved, switched, looked at, taken away."""

from portico.kernel.json import JsonObject
from portico.testing.upstreams import seen
from tests.faces.http.conftest import Site

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
