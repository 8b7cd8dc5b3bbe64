"""What leaves the bridge over REST: a message made less secret, a project taken along whole."""

import json

import pytest

from tests.faces.http.conftest import Site
from tests.faces.http.table import API, Table, laid


@pytest.fixture
async def table(site: Site) -> Table:
    return await laid(site)


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


async def test_it_must_be_lower_than_it_is(table: Table) -> None:
    said = await table.ana.says(table.conversation, "plain")

    refused = await table.ana.refused(
        "POST", f"/messages/{said['id']}/declassification", {"to": "confidential"}
    )

    assert refused[0] in (403, 409, 422)


async def test_a_project_is_exported_line_by_line_as_far_as_one_may_see(table: Table) -> None:
    await table.ana.says(table.conversation, "shallow")
    await table.ana.says(table.conversation, "deep", label="restricted")

    answer = await table.ana.ask("GET", f"/projects/{table.project}/export")
    lines = [json.loads(line) for line in answer.body.splitlines()]

    assert answer.headers["content-type"] == "application/x-ndjson"
    assert lines
    text = json.dumps(lines)
    assert "shallow" in text
    assert "deep" in text


async def test_the_document_names_every_route_of_the_bridge(site: Site) -> None:
    document = (await site.ask("GET", f"{API}/openapi.json")).json

    of_the_bridge = [
        path
        for path, methods in document["paths"].items()
        if any("bridge" in each.get("tags", ()) for each in methods.values())
    ]
    assert len(of_the_bridge) == 42
