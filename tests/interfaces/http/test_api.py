"""The REST interface as its callers see it."""

import json

import pytest
from dirty_equals import IsStr
from inline_snapshot import snapshot

from portico.guard.core.principals import OF_THE_INSTALLATION, SCOPES_OF, Role
from portico.interfaces.http.middleware import MOST
from tests.interfaces.http.asgi import Header, ask, bearing
from tests.interfaces.http.conftest import HOST, Site

pytestmark = pytest.mark.usefixtures("nothing_blocks")

KEYS = "/api/v1/keys"
PEOPLE = "/api/v1/principals"


def idempotent(key: str) -> tuple[Header, ...]:
    return ((b"idempotency-key", key.encode()),)


@pytest.mark.parametrize(("path", "said"), [("/healthz", "alive"), ("/readyz", "ready")])
async def test_the_probes_say_only_that_we_live(site: Site, path: str, said: str) -> None:
    got = await ask(site.app, "GET", path, headers=[HOST])
    head = await ask(site.app, "HEAD", path, headers=[HOST])

    assert (got.json, head.status) == ({"status": said}, 200)


async def test_figures_are_given_as_prometheus_reads_them(site: Site) -> None:
    seen = await site.ask("GET", "/metrics")

    assert seen.status == 200
    assert seen.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert seen.headers["cache-control"] == "no-store"


async def test_i_am_told_who_my_key_makes_me(site: Site) -> None:
    answer = await site.ask("GET", "/api/v1/me")

    assert answer.json == {
        "id": IsStr(regex="prn_[0-9a-z]{26}"),
        "space": IsStr(regex="spc_[0-9a-z]{26}"),
        "kind": "person",
        "name": "ana",
        "roles": ["admin"],
        "scopes": sorted(SCOPES_OF[Role.ADMIN] | OF_THE_INSTALLATION),
        "clearance": "restricted",
        "tools": [],
    }


async def test_a_key_is_shown_once_and_then_only_described(site: Site) -> None:
    made = await site.ask("POST", KEYS, {"name": "laptop", "days": 30})
    shown = await site.ask("GET", f"{KEYS}/{made.json['id']}")
    listed = await site.ask("GET", KEYS)

    assert made.status == 201
    assert made.json["key"].startswith(f"ptc_{made.json['id']}_")
    assert (await site.ask("GET", "/api/v1/me", key=made.json["key"])).status == 200
    assert "key" not in shown.json
    assert made.json["key"] not in shown.body.decode() + listed.body.decode()


async def test_a_revoked_key_opens_nothing_from_then_on(site: Site) -> None:
    made = (await site.ask("POST", KEYS, {"name": "laptop"})).json

    revoked = await site.ask("DELETE", f"{KEYS}/{made['id']}")

    assert revoked.status == 204
    assert (await site.ask("GET", "/api/v1/me", key=made["key"])).status == 401
    assert (await site.ask("DELETE", f"{KEYS}/{made['id']}")).status == 204


async def test_a_rotated_key_and_its_successor_both_work_during_the_overlap(site: Site) -> None:
    old = (await site.ask("POST", KEYS, {"name": "laptop"})).json

    new = (await site.ask("POST", f"{KEYS}/{old['id']}/rotate", {"overlap_hours": 1})).json
    at_once = (await site.ask("POST", f"{KEYS}/{new['id']}/rotate", {"overlap_hours": 0})).json

    assert (await site.ask("GET", "/api/v1/me", key=old["key"])).status == 200
    assert (await site.ask("GET", "/api/v1/me", key=new["key"])).status == 401
    assert (await site.ask("GET", "/api/v1/me", key=at_once["key"])).status == 200


async def test_an_invitation_works_once(site: Site) -> None:
    invited = await site.ask("POST", "/api/v1/invitations", {"name": "bob"})
    link = invited.json["link"]
    page = await ask(site.app, "GET", "/join", headers=[HOST])
    token = link.partition("#")[2]

    first = await site.ask("POST", "/api/v1/invitations/accept", key=token)
    second = await site.ask("POST", "/api/v1/invitations/accept", key=token)

    assert link.startswith("http://127.0.0.1:3100/join#ptc_")
    assert page.status == 200
    assert first.status == 201
    assert (await site.ask("GET", "/api/v1/me", key=first.json["key"])).json["name"] == "bob"
    assert (second.status, second.json["code"]) == (409, "invitation_used")


async def test_whoever_has_lost_a_link_gets_another(site: Site) -> None:
    first = await site.ask("POST", "/api/v1/invitations", {"name": "bob"})
    path = f"/api/v1/invitations/{first.json['principal']['id']}/again"

    again = await site.ask("POST", path)

    token = again.json["link"].partition("#")[2]
    accepted = await site.ask("POST", "/api/v1/invitations/accept", key=token)
    assert (again.status, accepted.status) == (201, 201)
    assert again.json["link"] != first.json["link"]


async def test_an_invitation_is_good_for_nothing_else(site: Site) -> None:
    invited = await site.ask("POST", "/api/v1/invitations", {"name": "bob", "roles": ["admin"]})
    token = invited.json["link"].partition("#")[2]

    answers = [
        (await site.ask(method, path, body, key=token)).status
        for method, path, body in [
            ("GET", PEOPLE, None),
            ("GET", KEYS, None),
            ("POST", KEYS, {"name": "mine"}),
            ("GET", "/api/v1/status", None),
            ("GET", "/api/v1/spaces", None),
        ]
    ]

    assert answers == [403] * 5


@pytest.mark.requirement("http:writes:idempotent")
async def test_a_repeated_answer_never_shows_the_key_again(site: Site) -> None:
    first = await site.ask("POST", KEYS, {"name": "laptop"}, headers=idempotent("k1"))
    again = await site.ask("POST", KEYS, {"name": "laptop"}, headers=idempotent("k1"))

    assert again.json == {**first.json, "key": None}
    assert first.json["key"] is not None


async def test_a_new_space_belongs_to_whoever_is_invited_and_not_to_its_founder(site: Site) -> None:
    founded = await site.ask("POST", "/api/v1/spaces", {"name": "other", "admin": "cleo"})
    token = founded.json["invitation"]["link"].partition("#")[2]
    cleo = (await site.ask("POST", "/api/v1/invitations/accept", key=token)).json["key"]
    other = founded.json["space"]["id"]

    theirs = await site.ask("GET", f"/api/v1/spaces/{other}", key=cleo)
    mine = await site.ask("GET", f"/api/v1/spaces/{other}")

    assert (theirs.status, theirs.json["name"]) == (200, "other")
    assert (mine.status, mine.json["code"]) == (404, "space_not_found")


async def test_a_space_is_exported_line_by_line_and_deleted_only_by_its_name(site: Site) -> None:
    space = (await site.ask("GET", "/api/v1/spaces")).json["data"][0]
    path = f"/api/v1/spaces/{space['id']}"

    exported = await site.ask("GET", f"{path}/export")
    unsure = await site.ask("DELETE", path, query="confirm=other")
    sure = await site.ask("DELETE", path, query="confirm=home")

    tables = {json.loads(line)["table"] for line in exported.body.splitlines()}
    assert tables >= {"space", "principal", "api_key"}
    assert b"digest" not in exported.body
    assert (unsure.status, unsure.json["code"]) == (422, "not_confirmed")
    assert sure.status == 204
    assert (await site.ask("GET", "/api/v1/me")).status == 401


@pytest.mark.requirement("http:problems:rfc9457")
async def test_a_problem_says_what_is_wrong_where_and_what_to_do(site: Site) -> None:
    answer = await site.ask("POST", KEYS, {"name": "", "days": 0, "scopes": ["nonsense"]})

    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json == snapshot(
        {
            "type": "urn:portico:problem:invalid_request",
            "title": "The request is invalid",
            "status": 422,
            "detail": "3 fields are not as they must be.",
            "code": "invalid_request",
            "fix": "Mend what is named for each field.",
            "retryable": False,
            "errors": [
                {"field": "name", "message": "String should have at least 1 character"},
                {
                    "field": "scopes.0",
                    "message": IsStr(regex="Input should be 'status:read', .*"),
                },
                {"field": "days", "message": "Input should be greater than or equal to 1"},
            ],
        }
    )


@pytest.mark.requirement("http:problems:no-echo")
async def test_a_refused_request_is_not_repeated_in_the_answer(site: Site) -> None:
    canary = "canary-in-a-field"

    answer = await site.ask("POST", KEYS, {"name": {"nested": canary}, "days": canary, canary: 1})

    assert answer.status == 422
    assert canary not in answer.body.decode()


async def test_a_body_that_is_no_json_is_refused(site: Site) -> None:
    answers = [
        (await ask(site.app, "POST", KEYS, headers=bearing(site.key), body=body)).status
        for body in (
            b"{",
            b"\xff\xfe",
            b'"text"',
            b"[]",
            b'{"name": "\\ud800"}',
            b'{"name": "a\\u0000"}',
        )
    ]

    assert answers == [422] * 6


async def test_a_request_that_is_too_large_is_cut_off(site: Site) -> None:
    answer = await site.ask("POST", KEYS, {"name": "x" * (MOST + 1)})

    assert (answer.status, answer.json["code"]) == (413, "too_large")


async def test_an_unexpected_failure_tells_nothing_of_the_inside(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("canary-of-the-inside")

    monkeypatch.setattr(type(site.use.show_space), "__call__", broken)

    with pytest.raises(RuntimeError):  # after the answer it goes on to the server's log
        await site.ask("GET", "/api/v1/spaces")


async def test_no_answer_behind_a_key_is_kept_by_a_cache(site: Site) -> None:
    made = await site.ask("POST", KEYS, {"name": "laptop"})
    refused = await site.ask("POST", KEYS, {})

    assert {made.headers["cache-control"], refused.headers["cache-control"]} == {"no-store"}


async def test_a_narrower_key_is_not_answered_what_a_wider_one_was(site: Site) -> None:
    wish = {"kind": "agent", "name": "robot"}
    await site.ask("POST", PEOPLE, wish, headers=idempotent("k1"))
    narrow = await site.ask("POST", KEYS, {"name": "narrow", "scopes": ["status:read"]})

    again = await site.ask("POST", PEOPLE, wish, headers=idempotent("k1"), key=narrow.json["key"])

    assert again.status == 422
