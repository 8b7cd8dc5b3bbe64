"""What a project has besides talk, over REST: memory, attachments, leases, work, who is there."""

import hashlib
import json
from urllib.parse import quote

import pytest

from tests.faces.http.asgi import Answer, ask
from tests.faces.http.conftest import HOST, Site
from tests.faces.http.table import API, Seat, Table, laid


@pytest.fixture
async def table(site: Site) -> Table:
    return await laid(site)


async def attached(seat: Seat, project: str, content: bytes, *, kind: bytes, query: str) -> Answer:
    bearer = (b"authorization", f"Bearer {seat.key}".encode())
    headers = [HOST, bearer, (b"content-type", kind)]
    path = f"{API}/projects/{project}/attachments"
    return await ask(seat.app, "POST", path, headers=headers, body=content, query=query)


async def test_a_key_is_remembered_upon_its_version_and_forgotten(table: Table) -> None:
    memory = f"/projects/{table.project}/memory"
    first = await table.robin.got(
        "PUT", f"{memory}/value", {"value": {"n": 1}, "version": 0}, query="key=notes/build"
    )
    late = await table.robin.refused(
        "PUT", f"{memory}/value", {"value": 2, "version": 0}, query="key=notes/build"
    )
    second = await table.robin.got(
        "PUT", f"{memory}/value", {"value": [2], "version": 1}, query="key=notes/build"
    )
    read = await table.ana.got("GET", f"{memory}/value", query="key=notes/build")
    await table.robin.got("DELETE", f"{memory}/value", query="key=notes/build")

    assert (first["version"], second["version"]) == (1, 2)
    assert late == (409, "memory_changed")
    assert (read["value"], read["by"]) == ([2], table.robin.id)
    gone = await table.ana.refused("GET", f"{memory}/value", query="key=notes/build")
    assert gone == (404, "memory_not_found")
    history = await table.ana.got("GET", f"{memory}/history", query="key=notes/build")
    assert {each["version"] for each in history["data"]} >= {1, 2}


async def test_memory_is_listed_by_key_and_found_by_its_words(table: Table) -> None:
    memory = f"/projects/{table.project}/memory"
    for key, value in {"bä": "one", "bb": "two herons", "c": "three"}.items():
        await table.robin.got("PUT", f"{memory}/value", {"value": value}, query=f"key={quote(key)}")

    first = await table.ana.got("GET", memory, query="limit=2")
    rest = await table.ana.got("GET", memory, query=f"limit=2&after={first['next']}")
    begins = await table.ana.got("GET", memory, query="prefix=b")
    found = await table.ana.got("GET", f"{memory}/search", query="q=herons")

    listed = [each["key"] for page in (first, rest) for each in page["data"]]
    assert sorted(listed) == sorted(["bä", "bb", "c"])
    assert {each["key"] for each in begins["data"]} == {"bä", "bb"}
    assert [each["key"] for each in found["data"]] == ["bb"]


async def test_the_same_key_is_there_once_a_label_and_its_names_are_hidden_too(
    table: Table,
) -> None:
    memory = f"/projects/{table.project}/memory"
    low, high = {"value": "low"}, {"value": "high", "label": "confidential"}
    await table.robin.got("PUT", f"{memory}/value", low, query="key=plan")
    await table.ana.got("PUT", f"{memory}/value", high, query="key=plan")
    await table.ana.got("PUT", f"{memory}/value", high, query="key=hidden")

    below = await table.robin.got("GET", f"{memory}/value", query="key=plan")
    above = await table.scout.got("GET", f"{memory}/value", query="key=plan")

    assert (below["value"], below["version"]) == ("low", 1)
    assert (above["value"], above["version"]) == ("high", 1)
    names = await table.robin.got("GET", memory)
    assert [each["key"] for each in names["data"]] == ["plan"]


async def test_a_file_is_attached_and_fetched_as_it_is(table: Table) -> None:
    content = b"<script>alert(1)</script>"
    digest = hashlib.sha256(content).hexdigest()

    added = await attached(
        table.robin,
        table.project,
        content,
        kind=b"text/html; charset=utf-8",
        query="name=a%20b.html",
    )
    said = await table.robin.says(table.conversation, "see", attachments=[digest])
    fetched = await table.ana.ask("GET", f"/attachments/{digest}")

    assert added.json["digest"] == digest
    assert (added.json["media_type"], added.json["size"]) == ("text/html", len(content))
    assert said["attachments"] == [digest]
    assert fetched.body == content
    assert fetched.headers["content-disposition"] == "attachment; filename*=UTF-8''a%20b.html"
    assert fetched.headers["x-content-type-options"] == "nosniff"
    assert fetched.headers["content-security-policy"].startswith("sandbox")
    assert fetched.headers["portico-label"] == "team"


async def test_an_attachment_that_is_too_secret_is_not_there(table: Table) -> None:
    content = b"deep"
    digest = hashlib.sha256(content).hexdigest()
    query = "name=deep.txt&label=confidential"
    await attached(table.ana, table.project, content, kind=b"text/plain", query=query)

    known = await table.robin.ask("GET", f"/attachments/{digest}")
    unknown = await table.robin.ask("GET", f"/attachments/{'0' * 64}")

    assert known.status == unknown.status == 404
    assert known.body.replace(digest.encode(), b"") == unknown.body.replace(b"0" * 64, b"")
    assert (await table.scout.ask("GET", f"/attachments/{digest}")).body == content


async def test_a_file_may_be_larger_than_other_requests_but_not_without_end(table: Table) -> None:
    query = "name=big.bin"
    large = await attached(
        table.robin, table.project, b"\0" * 2_000_000, kind=b"application/zip", query=query
    )
    path = f"{API}/conversations/{table.conversation}/messages"
    long = json.dumps({"body": "x" * 2_000_000}).encode()
    elsewhere = await ask(table.robin.app, "POST", path, headers=table.robin.headers, body=long)
    too_large = await attached(
        table.robin, table.project, b"\0" * 25_000_001, kind=b"application/zip", query=query
    )

    assert large.status == 201
    assert elsewhere.status == 413
    assert too_large.status == 413


async def test_a_lease_is_held_by_one_renewed_checked_and_released(table: Table) -> None:
    leases = f"/projects/{table.project}/leases"
    held = await table.robin.got("POST", leases, {"resource": "src/**", "purpose": "parser"})
    token = {"token": held["token"]}

    other = await table.scout.refused("POST", leases, {"resource": "src/a.py", "wait": True})
    listed = await table.ana.got("GET", leases)
    checked = await table.ana.got("POST", f"{leases}/check", {"resource": "src/**", **token})
    renewed = await table.robin.got("POST", f"/leases/{held['id']}/renew", {**token, "seconds": 60})
    await table.robin.got("POST", f"/leases/{held['id']}/release", token)
    lost = await table.robin.refused("POST", f"/leases/{held['id']}/renew", token)
    taken = await table.scout.got("POST", leases, {"resource": "src/a.py"})

    assert other == (409, "lease_held")
    assert [each["id"] for each in listed["data"]] == [held["id"]]
    assert [each["name"] for each in listed["waiting"]] == ["scout"]
    assert checked["holder"] == renewed["holder"] == table.robin.id
    assert lost[0] in (404, 409)
    assert taken["token"] > held["token"]


async def test_the_same_key_is_the_same_lease(table: Table) -> None:
    leases, key = f"/projects/{table.project}/leases", (b"idempotency-key", b"one")
    wish = {"resource": "branch:main"}

    first = await table.robin.got("POST", leases, wish, key)
    again = await table.robin.got("POST", leases, wish, key)

    other = await table.robin.ask("POST", leases, {"resource": "branch:other"}, key)
    elsewhere = await table.ana.got("POST", "/projects", {"name": "crane", "label": "team"})
    there = await table.robin.got("POST", f"/projects/{elsewhere['id']}/leases", wish, key)

    assert (again["id"], again["token"]) == (first["id"], first["token"])
    assert (other.status, other.json["code"]) == (422, "idempotency_key_reused")
    assert there["project"] == elsewhere["id"]


async def test_work_is_claimed_by_one_handed_over_and_ended(table: Table) -> None:
    work = f"/projects/{table.project}/work"
    egg = await table.ana.got("POST", work, {"title": "Count the eggs"})
    nest = await table.ana.got("POST", work, {"title": "Draw the nest", "depends": [egg["id"]]})

    held_up = await table.robin.refused("POST", f"/work/{nest['id']}/claim")
    claimed = await table.robin.got("POST", f"/work/{egg['id']}/claim")
    taken = await table.scout.refused("POST", f"/work/{egg['id']}/claim")
    handed = await table.robin.got(
        "POST", f"/work/{egg['id']}/hand-over", {"token": claimed["token"], "to": table.scout.id}
    )
    late = await table.robin.refused("POST", f"/work/{egg['id']}/end", {"token": claimed["token"]})
    ended = await table.scout.got(
        "POST", f"/work/{egg['id']}/end", {"token": handed["token"], "outcome": "Three."}
    )
    shown = await table.ana.got("GET", f"/work/{egg['id']}")
    open_ones = await table.ana.got("GET", work, query="state=open")

    assert (held_up, taken, late) == (
        (409, "work_held_up"),
        (409, "work_taken"),
        (409, "work_taken"),
    )
    assert (handed["claimed_by"], ended["state"], ended["outcome"]) == (
        table.scout.id,
        "done",
        "Three.",
    )
    assert shown == ended
    assert [each["title"] for each in open_ones["data"]] == ["Draw the nest"]


async def test_the_same_key_adds_one_piece_of_work(table: Table) -> None:
    work, key = f"/projects/{table.project}/work", (b"idempotency-key", b"one")

    first = await table.ana.got("POST", work, {"title": "Count"}, key)
    again = await table.ana.got("POST", work, {"title": "Count"}, key)

    assert first["id"] == again["id"]


async def test_who_is_there_is_told_to_the_project(table: Table) -> None:
    path = f"/projects/{table.project}/presence"
    await table.robin.got("PUT", path, {"doing": "busy", "note": "parser"})

    found = await table.ana.got("GET", path)

    [only] = found["data"]
    assert (only["name"], only["doing"], only["note"]) == ("robin", "busy", "parser")


async def test_a_high_task_takes_no_lease_and_claims_no_work_of_a_low_project(
    table: Table,
) -> None:
    made = await table.ana.got("POST", f"/projects/{table.project}/work", {"title": "Count"})
    await table.ana.says(table.conversation, "deep", label="confidential")
    await table.scout.reads(table.conversation)

    refusals = [
        await table.scout.refused("POST", f"/projects/{table.project}/leases", {"resource": "a"}),
        await table.scout.refused("POST", f"/work/{made['id']}/claim"),
        await table.scout.refused("PUT", f"/projects/{table.project}/presence", {}),
    ]

    assert refusals == [(403, "write_down")] * 3
