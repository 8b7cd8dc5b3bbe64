"""The bridge as resources: what is listed, what is read, and what is not there."""

import base64
import json
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.projects import ProjectId
from portico.interfaces.mcp.bridge.definitions import ResourceNotFound
from portico.interfaces.mcp.bridge.resources import OfMemory, address_of, uri_of
from portico.kernel.errors import PorticoError
from tests.interfaces.mcp.rooms import BridgeSite, Caller

NOBODY = "0" * 26


async def content_of(client: Client, uri: str) -> dict[str, Any]:
    [content] = (await client.read_resource(uri)).contents
    found: dict[str, Any] = content.model_dump(by_alias=True, mode="json", exclude_none=True)
    return found


async def facts_of(client: Client, uri: str) -> dict[str, Any]:
    content = await content_of(client, uri)
    assert content["uri"] == uri
    assert content["mimeType"] == "application/json"
    facts: dict[str, Any] = json.loads(content["text"])
    return facts


async def test_listing_raises_nobody(bridge: BridgeSite, era: str) -> None:
    table = bridge.table
    async with bridge.client(table.robin, era) as client:
        robin = Caller(client)
        before = (await client.list_resources()).resources
        unread = await robin.got("whoami")
        await robin.got("projects", project="heron")
        after = (await client.list_resources()).resources

    assert before == []
    assert unread["read"] == "public"
    assert [(each.uri, each.name) for each in after] == [
        (f"portico://projects/{table.project}", "heron"),
        (f"portico://conversations/{table.conversation}", "Nests"),
    ]


async def test_how_addresses_are_written_is_told(bridge: BridgeSite) -> None:
    async with bridge.client(bridge.table.robin) as client:
        templates = (await client.list_resource_templates()).resource_templates

    assert [each.uri_template for each in templates] == [
        "portico://projects/{id}",
        "portico://projects/{id}/memory/{key}",
        "portico://conversations/{id}",
        "portico://attachments/{digest}",
    ]


async def test_a_project_is_read_whole(bridge: BridgeSite, era: str) -> None:
    async with bridge.client(bridge.table.robin, era) as client:
        robin = Caller(client)
        await robin.got("memory_set", project="heron", key="plan", value=1)
        await robin.got("task", do="add", project="heron", title="Build", body="long")
        facts = await facts_of(client, f"portico://projects/{bridge.table.project}")
        me = await robin.got("whoami")

    assert facts["project"]["name"] == "heron"
    assert facts["conversations"][0]["id"] == bridge.table.conversation
    assert (facts["work"][0]["title"], "body" in facts["work"][0]) == ("Build", False)
    assert facts["memory"] == ["plan"]
    assert me["read"] == "team"


async def test_what_is_remembered_is_read_by_its_key(bridge: BridgeSite) -> None:
    async with bridge.client(bridge.table.robin) as client:
        await Caller(client).got("memory_set", project="heron", key="a b/ü", value={"n": 1})
        uri = uri_of(OfMemory(ProjectId.parse(bridge.table.project), "a b/ü"))
        facts = await facts_of(client, uri)
        plain = await facts_of(
            client, f"portico://projects/{bridge.table.project}/memory/a%20b/%C3%BC"
        )

    assert (facts["key"], facts["value"], facts["version"]) == ("a b/ü", {"n": 1}, 1)
    assert plain == facts


async def test_a_conversation_is_its_end_and_stays_unread(bridge: BridgeSite) -> None:
    here = bridge.table.conversation
    await bridge.table.ana.says(here, "hello")
    async with bridge.client(bridge.table.robin) as client:
        robin = Caller(client)
        facts = await facts_of(client, f"portico://conversations/{here}")
        inbox = await robin.got("inbox")
        await bridge.table.ana.says(here, "again")
        since = await robin.got("read", conversations=[here], cursor=facts["cursor"])

    assert facts["conversation"]["title"] == "Nests"
    assert [each["body"] for each in facts["messages"]] == ["hello"]
    assert inbox["total"] == 1
    assert [each["body"] for each in since["messages"]] == ["again"]


async def test_a_file_comes_as_what_it_is(bridge: BridgeSite) -> None:
    encoded = base64.b64encode(b"\xff\0").decode()
    async with bridge.client(bridge.table.robin) as client:
        robin = Caller(client)
        note = await robin.got("attach", project="heron", name="a.md", text="# a")
        data = await robin.got("attach", project="heron", name="b", base64=encoded)
        text = await content_of(client, f"portico://attachments/{note['digest']}")
        blob = await content_of(client, f"portico://attachments/{data['digest']}")

    assert (text["text"], text["mimeType"]) == ("# a", "text/plain")
    assert (blob["blob"], blob["mimeType"]) == (encoded, "application/octet-stream")


async def test_what_is_hidden_is_told_of_as_what_is_not_there(bridge: BridgeSite, era: str) -> None:
    hidden = await bridge.table.ana.got("POST", "/projects", {"name": "x", "label": "restricted"})
    refusals: list[tuple[int, Any]] = []
    async with bridge.client(bridge.table.robin, era) as client:
        for id_ in (hidden["id"], f"prj_{NOBODY}"):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(f"portico://projects/{id_}")
            told = {**refused.value.data, "uri": None}
            refusals.append((refused.value.code, told))

    assert refusals[0] == refusals[1]
    assert refusals[0][0] == (-32002 if era == "legacy" else INVALID_PARAMS)
    assert refusals[0][1]["code"] == "project_not_found"


def test_an_address_is_read_as_it_is_written() -> None:
    project = ProjectId.parse(f"prj_{NOBODY}")
    for address in (
        project,
        OfMemory(project, "a/b c?#%"),
        ConversationId.parse(f"cnv_{NOBODY}"),
        Digest("0" * 64),
    ):
        assert address_of(uri_of(address)) == address


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "file:///etc/passwd",
        "portico://",
        "portico://people/ana",
        f"portico://projects/prj_{NOBODY}/memory",
        f"portico://projects/prj_{NOBODY}/memory/",
        f"portico://conversations/cnv_{NOBODY}/x",
    ],
)
def test_what_is_no_address_is_not_there(uri: str) -> None:
    with pytest.raises(ResourceNotFound):
        address_of(uri)


@pytest.mark.parametrize(
    "uri", ["portico://projects/x", "portico://conversations/x", "portico://attachments/x"]
)
def test_what_is_no_id_is_refused(uri: str) -> None:
    with pytest.raises(PorticoError):
        address_of(uri)
