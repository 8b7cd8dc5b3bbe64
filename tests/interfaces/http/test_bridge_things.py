"""What a project has besides talk, over REST: memory, attachments, leases, work, who is there, and
what leaves it."""

import hashlib
import json
from urllib.parse import quote

import pytest

from tests.interfaces.http.asgi import ask
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.table import API, Table, laid


@pytest.fixture
async def table(site: Site) -> Table:
    return await laid(site)


async def test_a_key_is_remembered_upon_its_version_and_forgotten(table: Table) -> None:
    memory = f"/projects/{table.project}/memory"
    path, query = f"{memory}/value", "key=notes/build"

    first = await table.robin.got("PUT", path, {"value": {"n": 1}, "version": 0}, query=query)
    late = await table.robin.refused("PUT", path, {"value": 2, "version": 0}, query=query)
    second = await table.robin.got("PUT", path, {"value": [2], "version": 1}, query=query)
    read = await table.ana.got("GET", path, query=query)
    await table.robin.got("DELETE", path, query=query)
    gone = await table.ana.refused("GET", path, query=query)
    history = await table.ana.got("GET", f"{memory}/history", query=query)

    assert (first["version"], second["version"]) == (1, 2)
    assert (read["value"], read["by"]) == ([2], table.robin.id)
    assert (late, gone) == ((409, "memory_changed"), (404, "memory_not_found"))
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


async def test_a_file_is_attached_and_fetched_as_it_is(table: Table) -> None:
    content = b"<script>alert(1)</script>"
    digest = hashlib.sha256(content).hexdigest()

    added = await table.robin.attaches(
        table.project, content, kind=b"text/html; charset=utf-8", query="name=a%20b.html"
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


async def test_a_file_may_be_larger_than_other_requests_but_not_without_end(table: Table) -> None:
    path = f"{API}/conversations/{table.conversation}/messages"
    long = json.dumps({"body": "x" * 2_000_000}).encode()

    large = await table.robin.attaches(table.project, b"\0" * 2_000_000, query="name=big.bin")
    elsewhere = await ask(table.robin.app, "POST", path, headers=table.robin.headers, body=long)
    too_large = await table.robin.attaches(table.project, b"\0" * 25_000_001, query="name=big.bin")

    assert (large.status, elsewhere.status, too_large.status) == (201, 413, 413)


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


async def test_work_is_claimed_by_one_handed_over_and_ended(table: Table) -> None:
    work = f"/projects/{table.project}/work"
    egg = await table.ana.got("POST", work, {"title": "Count the eggs"})
    nest = await table.ana.got("POST", work, {"title": "Draw the nest", "depends": [egg["id"]]})
    path = f"/work/{egg['id']}"

    held_up = await table.robin.refused("POST", f"/work/{nest['id']}/claim")
    claimed = await table.robin.got("POST", f"{path}/claim")
    taken = await table.scout.refused("POST", f"{path}/claim")
    over = {"token": claimed["token"], "to": table.scout.id}
    handed = await table.robin.got("POST", f"{path}/hand-over", over)
    late = await table.robin.refused("POST", f"{path}/end", {"token": claimed["token"]})
    result = {"token": handed["token"], "outcome": "Three."}
    ended = await table.scout.got("POST", f"{path}/end", result)
    shown = await table.ana.got("GET", path)
    open_ones = await table.ana.got("GET", work, query="state=open")

    assert [held_up, taken, late] == [(409, "work_held_up"), *[(409, "work_taken")] * 2]
    assert handed["claimed_by"] == table.scout.id
    assert (ended["state"], ended["outcome"]) == ("done", "Three.")
    assert shown == ended
    assert [each["title"] for each in open_ones["data"]] == ["Draw the nest"]


async def test_who_is_there_is_told_to_the_project(table: Table) -> None:
    path = f"/projects/{table.project}/presence"
    await table.robin.got("PUT", path, {"doing": "busy", "note": "parser"})

    [only] = (await table.ana.got("GET", path))["data"]

    assert (only["name"], only["doing"], only["note"]) == ("robin", "busy", "parser")


async def test_a_lower_copy_is_asked_for_and_shown_without_what_must_go(table: Table) -> None:
    said = await table.ana.says(
        table.conversation, "Write to bob@else.example.", label="confidential"
    )
    path = f"/messages/{said['id']}"

    asked = await table.scout.ask("POST", f"{path}/declassification", {"to": "team"})
    waiting = await table.ana.got("GET", "/approvals")
    records = await table.scout.got("GET", f"{path}/declassifications")

    assert asked.status == 202
    assert "bob@else.example" not in asked.json["text"]
    assert [each["kind"] for each in asked.json["findings"]] == ["personal"]
    assert any(line.startswith("-") for line in asked.json["diff"])
    assert [each["id"] for each in waiting["data"]] == [asked.json["approval"]]
    assert records["data"] == []


async def test_a_project_is_exported_line_by_line_as_far_as_one_may_see(table: Table) -> None:
    await table.ana.says(table.conversation, "shallow")
    await table.ana.says(table.conversation, "deep", label="restricted")

    whole = await table.ana.ask("GET", f"/projects/{table.project}/export")
    part = await table.robin.ask("GET", f"/projects/{table.project}/export")

    assert whole.headers["content-type"] == "application/x-ndjson"
    bodies = [[json.loads(line) for line in each.body.splitlines()] for each in (whole, part)]
    found = [{word for word in ("shallow", "deep") if word in str(each)} for each in bodies]
    assert found == [{"shallow", "deep"}, {"shallow"}]
