"""Calls made ahead over REST."""

from tests.interfaces.http.conftest import Site
from tests.interfaces.http.test_servers import approved

AHEAD = "/api/v1/ahead"
NOTHING = {
    "calls": 0,
    "tried": 0,
    "served": 0,
    "wasted": 0,
    "saved_ms": 0,
    "coverage": None,
    "exact_hit_rate": None,
    "waste_rate": None,
}


async def test_what_nobody_has_switched_is_live_and_has_no_figures(site: Site) -> None:
    await approved(site)

    found = await site.ask("GET", AHEAD)

    assert (found.status, found.json["figures"]) == (200, NOTHING)
    modes = {name: found.json[name] for name in ("mode", "installation", "space", "learning")}
    assert modes == {"mode": "live", "installation": "live", "space": "live", "learning": True}
    assert {"name": "files", "mode": "live", "own": "live", "external": False} in found.json[
        "servers"
    ]


async def test_what_is_switched_is_answered_and_stays(site: Site) -> None:
    await approved(site)
    body = {"mode": "shadow", "servers": {"files": {"mode": "off", "external": True}}}

    done = await site.ask("PUT", AHEAD, body)
    unlearnt = await site.ask("PUT", AHEAD, {"learning": False})

    assert (done.status, done.json["mode"], done.json["learning"]) == (200, "shadow", True)
    assert (unlearnt.json["mode"], unlearnt.json["learning"]) == ("shadow", False)
    assert {"name": "files", "mode": "off", "own": "off", "external": True} in (
        await site.ask("GET", AHEAD)
    ).json["servers"]


async def test_a_server_that_is_not_there_is_not_switched_and_nothing_else_is(site: Site) -> None:
    done = await site.ask("PUT", AHEAD, {"mode": "off", "servers": {"nowhere": {"mode": "off"}}})

    assert (done.status, done.json["code"]) == (404, "server_not_found")
    assert (await site.ask("GET", AHEAD)).json["mode"] == "live"


async def test_without_anything_foretold_there_are_no_edges(site: Site) -> None:
    found = await site.ask("GET", f"{AHEAD}/edges", query="limit=5")

    assert (found.status, found.json) == (200, {"data": [], "next": None})
