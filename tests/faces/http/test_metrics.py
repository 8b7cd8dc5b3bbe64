"""Figures over HTTP: for a key that may read them, and for no other."""

import pytest

from tests.faces.http.conftest import Site


@pytest.mark.requirement("telemetry:metrics:behind-a-key")
async def test_metrics_are_for_whoever_may_read_them(site: Site) -> None:
    body = {"name": "narrow", "scopes": ["status:read"]}
    narrow = (await site.ask("POST", "/api/v1/keys", body)).json["key"]

    seen = await site.ask("GET", "/metrics")
    refused = await site.ask("GET", "/metrics", key=narrow)
    stranger = await site.ask("GET", "/metrics", key="nobody")

    assert (seen.status, refused.status, stranger.status) == (200, 403, 401)
    assert seen.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert seen.headers["cache-control"] == "no-store"
    assert refused.json["code"] == "not_permitted"


@pytest.mark.parametrize("role", ["operator", "admin"])
@pytest.mark.requirement("telemetry:metrics:behind-a-key")
async def test_no_role_shows_what_all_spaces_do(site: Site, role: str) -> None:
    who = {"kind": "agent", "name": "robot", "roles": [role]}
    robot = (await site.ask("POST", "/api/v1/principals", who)).json["id"]
    made = await site.ask("POST", "/api/v1/keys", {"name": "k", "principal": robot})

    answer = await site.ask("GET", "/metrics", key=made.json["key"])

    assert (answer.status, answer.json["code"]) == (403, "not_permitted")
