"""Agents over REST: made, looked at, changed, compared, taken out and brought in."""

from typing import Any

import pytest

from tests.interfaces.http.asgi import Answer
from tests.interfaces.http.conftest import Site

AGENTS = "/api/v1/agents"
CLERK: dict[str, Any] = {
    "name": "clerk",
    "description": "Answers letters.",
    "instructions": "Answer politely.\nSign as Ana.",
    "model": "local:small",
    "tools": ["files.*"],
    "limits": {"turns": 5, "money": "0.50"},
    "tags": ["post"],
}


async def made(site: Site, **changes: Any) -> Answer:
    return await site.ask("POST", AGENTS, {**CLERK, **changes})


@pytest.mark.requirement("agents:data:crud")
async def test_an_agent_is_made_and_found_by_its_name_and_its_id(site: Site) -> None:
    answer = await made(site)
    by_name = await site.ask("GET", f"{AGENTS}/clerk")
    by_id = await site.ask("GET", f"{AGENTS}/{answer.json['id']}")

    assert answer.status == 201, answer.json
    assert answer.json == by_name.json == by_id.json
    assert by_name.headers["etag"] == '"1"'
    assert {**CLERK, "limits": 0}.items() <= {**answer.json, "limits": 0}.items()
    usual = {"tokens": 200_000, "seconds": 600.0, "calls": 100}
    assert answer.json["limits"] == {"turns": 5, "money": "0.50", **usual}
    more = {"label": "team", "exposed": False, "made_by_name": "ana"}
    assert more.items() <= answer.json.items()


@pytest.mark.requirement("agents:data:every-fault")
async def test_everything_that_is_wrong_is_told_at_once(site: Site) -> None:
    answer = await site.ask(
        "POST",
        AGENTS,
        {
            "name": "a clerk",
            "model": "nobody:small",
            "fallbacks": ["x"],
            "tools": ["mail.send", "files.*"],
            "limits": {"turns": 0, "tokens": "many"},
            "temperature": 3,
            "tags": ["Post"],
            "exposed": True,
            "colour": "red",
        },
    )

    assert (answer.status, answer.json["code"]) == (422, "bad_agent")
    assert sorted(error["field"] for error in answer.json["errors"]) == [
        "colour",
        "description",
        "fallbacks.0",
        "limits.tokens",
        "limits.turns",
        "model",
        "name",
        "tags.0",
        "temperature",
        "tools.0",
    ]


async def test_a_field_that_cannot_be_read_is_told_of_once(site: Site) -> None:
    answer = await site.ask("POST", f"{AGENTS}/check", {"name": 1, "model": "local:small"})
    well = await site.ask("POST", f"{AGENTS}/check", CLERK)

    assert answer.json["data"] == [{"field": "name", "message": "must be a text"}]
    assert (well.status, well.json) == (200, {"data": [], "warnings": []})


async def test_tools_that_cannot_be_used_now_are_warned_of_and_it_is_made(site: Site) -> None:
    waiting = {**CLERK, "tools": ["builtin.*"]}

    checked = await site.ask("POST", f"{AGENTS}/check", waiting)
    answer = await made(site, tools=["builtin.*"])

    assert (checked.json["data"], answer.status) == ([], 201)
    assert [each["field"] for each in answer.json["warnings"]] == ["tools"]
    assert "portico servers list" in answer.json["warnings"][0]["message"]
    assert checked.json["warnings"] == answer.json["warnings"]


async def test_agents_are_listed_by_name_and_by_what_they_are(site: Site) -> None:
    for name in ("b", "a", "c"):
        await made(site, name=name, tags=[name])

    page = await site.ask("GET", AGENTS)
    tagged = await site.ask("GET", AGENTS, query="tag=b&tool=files.read&model=local:small&text=LET")
    none = await site.ask("GET", AGENTS, query="tool=mail.send")

    assert [line["name"] for line in page.json["data"]] == ["a", "b", "c"]
    assert [line["name"] for line in tagged.json["data"]] == ["b"]
    assert none.json["data"] == []
    assert "instructions" not in page.json["data"][0]


async def test_a_change_is_another_version_and_is_not_written_over(site: Site) -> None:
    await made(site)
    brief = {**CLERK, "instructions": "Answer politely.\nBe brief."}

    changed = await site.ask("PUT", f"{AGENTS}/clerk", brief, query="was=1")
    stale = await site.ask("PUT", f"{AGENTS}/clerk", CLERK, query="was=1")
    tag = await site.ask("PUT", f"{AGENTS}/clerk", CLERK, headers=((b"if-match", b'"1"'),))
    odd = await site.ask("PUT", f"{AGENTS}/clerk", CLERK, headers=((b"if-match", b'"x"'),))
    same = await site.ask("PUT", f"{AGENTS}/clerk", brief, headers=((b"if-match", b'"2"'),))
    back = await site.ask("PUT", f"{AGENTS}/clerk", CLERK, headers=((b"if-match", b"*"),))

    assert (changed.status, changed.json["version"]) == (200, 2)
    assert [answer.json["code"] for answer in (stale, tag, odd)] == ["agent_changed"] * 3
    assert same.json["version"] == 2
    assert back.json["version"] == 3


async def test_versions_are_listed_compared_and_taken_back(site: Site) -> None:
    await made(site)
    wish = {**CLERK, "instructions": "Answer politely.\nBe brief.", "limits": {"turns": 9}}
    await site.ask("PUT", f"{AGENTS}/clerk", wish)

    versions = await site.ask("GET", f"{AGENTS}/clerk/versions")
    diff = await site.ask("GET", f"{AGENTS}/clerk/diff", query="from=1&to=2")
    none = await site.ask("GET", f"{AGENTS}/clerk/diff", query="from=1&to=7")
    restored = await site.ask("POST", f"{AGENTS}/clerk/restore", {"version": 1})

    assert [version["number"] for version in versions.json["data"]] == [2, 1]
    assert [change["field"] for change in diff.json["data"]] == [
        "instructions",
        "limits.turns",
        "limits.money",
    ]
    assert diff.json["data"][0]["lines"] == [
        "@@ -1,2 +1,2 @@",
        " Answer politely.",
        "-Sign as Ana.",
        "+Be brief.",
    ]
    assert (none.status, none.json["code"]) == (404, "agent_version_not_found")
    assert (restored.json["version"], restored.json["instructions"]) == (3, CLERK["instructions"])


async def test_one_is_duplicated_and_not_exposed(site: Site) -> None:
    await made(site, exposed=True)

    other = await site.ask("POST", f"{AGENTS}/clerk/duplicate", {"name": "scribe"})
    taken = await site.ask("POST", f"{AGENTS}/clerk/duplicate", {"name": "scribe"})

    assert (other.status, other.json["name"], other.json["exposed"]) == (201, "scribe", False)
    assert other.json["instructions"] == CLERK["instructions"]
    assert taken.json["code"] == "agent_name_taken"


async def test_one_that_is_removed_is_gone_and_its_name_is_free(site: Site) -> None:
    await made(site)

    gone = await site.ask("DELETE", f"{AGENTS}/clerk")
    again = await site.ask("DELETE", f"{AGENTS}/clerk")
    anew = await made(site)

    assert gone.status == 204
    assert (again.status, again.json["code"]) == (404, "agent_not_found")
    assert anew.status == 201, anew.json


@pytest.mark.requirement("agents:data:toml")
async def test_one_is_taken_out_as_a_file_and_brought_in(site: Site) -> None:
    await made(site)

    taken = await site.ask("GET", f"{AGENTS}/clerk/export")
    text = taken.body.decode()
    twice = await site.ask("POST", f"{AGENTS}/import", {"toml": text})
    wish = {"toml": text.replace("politely", "at once"), "replace": True}
    replaced = await site.ask("POST", f"{AGENTS}/import", wish)
    other = await site.ask(
        "POST", f"{AGENTS}/import", {"toml": text.replace('"clerk"', '"scribe"'), "replace": True}
    )

    assert taken.headers["content-type"].startswith("application/toml")
    assert 'instructions = """\nAnswer politely.\nSign as Ana."""' in text
    assert twice.json["code"] == "agent_name_taken"
    assert (replaced.json["version"], replaced.json["instructions"]) == (
        2,
        "Answer at once.\nSign as Ana.",
    )
    assert (other.json["name"], other.json["version"]) == ("scribe", 1)


async def test_there_are_starting_points(site: Site) -> None:
    answer = await site.ask("GET", f"{AGENTS}/templates")

    names = ["assistant", "researcher", "file-keeper", "coder", "reviewer", "data-clerk"]
    assert [template["name"] for template in answer.json["data"]] == names
    assert answer.json["data"][0]["agent"]["model"] == ""


async def test_an_agent_is_a_principal_of_its_own_and_is_in_the_audit(site: Site) -> None:
    answer = await made(site)
    await site.ask("PUT", f"{AGENTS}/clerk", {**CLERK, "tools": []})
    await site.ask("DELETE", f"{AGENTS}/clerk")

    principal = await site.ask("GET", f"/api/v1/principals/{answer.json['principal']}")
    audit = await site.ask("GET", "/api/v1/audit")

    assert principal.json["kind"] == "agent"
    entries = {entry["act"]["action"]: entry["act"] for entry in audit.json["data"]}
    assert {"agent.added", "agent.changed", "agent.removed"} <= set(entries)
    assert entries["agent.changed"]["facts"]["changed"] == ["tools"]
    assert "Answer politely" not in audit.body.decode()
