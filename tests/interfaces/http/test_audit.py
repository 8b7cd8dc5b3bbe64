"""The audit over HTTP: every act is in it, and whoever may read it can check it."""

import json
from typing import Any

from portico.guard.core.audit import Fault, Head, link_from, verify
from portico.kernel.ids import SpaceId
from tests.interfaces.http.conftest import Site

AUDIT = "/api/v1/audit"


async def listed(site: Site, query: str = "") -> list[dict[str, Any]]:
    answer = await site.ask("GET", AUDIT, query=query)
    assert answer.status == 200, answer.json
    data: list[dict[str, Any]] = answer.json["data"]
    return data


async def actions(site: Site, query: str = "") -> list[str]:
    return [each["act"]["action"] for each in await listed(site, query)]


async def test_who_did_what_is_there_newest_first(site: Site) -> None:
    made = (await site.ask("POST", "/api/v1/keys", {"name": "k"})).json
    for _ in range(2):  # the second changes nothing, and is no act
        await site.ask("DELETE", f"/api/v1/keys/{made['id']}")

    entries = await listed(site)

    assert [each["act"]["action"] for each in entries] == [
        "key.revoked",
        "key.issued",
        "key.issued",
        "principal.added",
        "space.founded",
    ]
    assert entries[0]["act"]["subject"] == made["id"]
    assert entries[0]["by"] == (await site.ask("GET", "/api/v1/me")).json["id"]
    assert made["key"] not in json.dumps(entries)


async def test_every_act_on_people_and_servers_is_there(site: Site) -> None:
    launch = {"type": "stdio", "command": "serve"}
    server = (await site.ask("POST", "/api/v1/servers", {"name": "files", "launch": launch})).json
    pin = {"launch_pin": server["launch_pin"]}
    await site.ask("POST", "/api/v1/servers/files/approve-launch", pin)
    await site.ask("POST", "/api/v1/servers/files/disable")
    await site.ask("DELETE", "/api/v1/servers/files")
    robot = {"kind": "agent", "name": "robot", "roles": ["viewer"]}
    added = (await site.ask("POST", "/api/v1/principals", robot)).json
    await site.ask("PATCH", f"/api/v1/principals/{added['id']}", {"disabled": True})
    invited = await site.ask("POST", "/api/v1/invitations", {"name": "max"})
    token = invited.json["link"].partition("#")[2]
    await site.ask("POST", "/api/v1/invitations/accept", key=token)
    home = (await site.ask("GET", "/api/v1/spaces")).json["data"][0]["id"]
    await site.ask("PATCH", f"/api/v1/spaces/{home}", {"name": "ours"})
    await site.ask("POST", "/api/v1/spaces", {"name": "theirs", "admin": "eve"})

    assert (await actions(site))[::-1][3:] == [
        "server.added",
        "server.launch_approved",
        "server.switched",
        "server.removed",
        "principal.added",
        "principal.changed",
        "principal.added",
        "invitation.made",
        "invitation.accepted",
        "space.renamed",
        "space.founded",
    ]


async def test_it_is_filtered(site: Site) -> None:
    me = (await site.ask("GET", "/api/v1/me")).json["id"]

    assert await actions(site, "action=key.*") == ["key.issued"]
    assert await actions(site, "subject=spc_*") == ["space.founded"]
    assert len(await listed(site, f"principal={me}")) == 3
    assert await listed(site, f"principal=prn_{'0' * 26}") == []
    assert await listed(site, "since=2126-01-01T00:00:00Z") == []
    assert len(await listed(site, "since=2016-01-01T00:00:00Z")) == 3


async def test_an_export_is_a_chain_that_anybody_can_check(site: Site) -> None:
    exported = await site.ask("GET", f"{AUDIT}/export")
    head = (await site.ask("GET", f"{AUDIT}/head")).json

    links = [link_from(line) for line in exported.body.splitlines()]
    whole = [link for link in links if link is not None]
    assert len(whole) == len(links) == head["number"] == 4
    assert verify(whole, SpaceId.parse(head["space"])).sound
    assert whole[-1].hash.hex() == head["hash"]
    assert (await actions(site))[0] == "audit.exported"


async def test_verifying_tells_how_far_it_is_and_then_what_it_came_to(site: Site) -> None:
    heads: Any = site.use.verify_audit.heads
    head = (await site.ask("GET", f"{AUDIT}/head")).json

    first = await site.ask("GET", f"{AUDIT}/verify")
    exported = Head(head["number"], bytes.fromhex(head["hash"]))
    await heads.keep(SpaceId.parse(head["space"]), exported)
    second = await site.ask("GET", f"{AUDIT}/verify")

    *steps, last = [json.loads(line) for line in first.body.splitlines()]
    assert steps == [{"checked": 3, "of": 3}]
    assert (last["verdict"]["sound"], last["verdict"]["heads"]) == (True, 0)
    assert json.loads(second.body.splitlines()[-1])["verdict"]["heads"] == 1
    assert (await actions(site))[0] == "audit.verified"


async def test_what_was_changed_underneath_is_found(site: Site) -> None:
    log: Any = site.use.verify_audit.log
    world = log._world
    place = next(iter(world.audit))
    link = world.audit[place]
    world.audit[place] = type(link)(link.number, link.text.replace(b"home", b"hole"), link.hash)

    answer = await site.ask("GET", f"{AUDIT}/verify")

    verdict = json.loads(answer.body.splitlines()[-1])["verdict"]
    assert [(it["fault"], it["number"]) for it in verdict["findings"]] == [(Fault.CHANGED, 1)]
    assert (await listed(site, "limit=1"))[0]["act"]["facts"] == {
        "sound": False,
        "checked": 3,
        "found": 1,
    }
