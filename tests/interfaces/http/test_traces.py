"""Traces and statistics over REST."""

from dataclasses import replace

import pytest

from portico.agents.core.model_requests import ToolCall, UserMessage
from portico.agents.core.traces import AgentRunStatus, RunTrace
from portico.guard.core.principals import Scope
from portico.kernel.principal import Principal
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent_run
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.test_permissions import key_with

TRACES = "/api/v1/traces"


async def admin(site: Site) -> Principal:
    return (await site.use.authenticate(site.key)).principal


async def two_runs(site: Site) -> list[RunTrace]:
    """The first over, the second of somebody else's."""
    root = await admin(site)
    traces = site.agent_runs.traces
    first = replace(an_agent_run(root), history=(UserMessage("Before."),))
    other = replace(an_agent_run(root, 2), started_by=first.acts_as)
    for run in (first, other):
        await traces.add(root, run, a_saying(run))
        await traces.add_turn(root, a_turn(run, calls=(ToolCall("c", "files__read", {"a": 1}),)))
        await traces.add_use(root, a_use(run, code="tool_failed"))
    ended = replace(first, status=AgentRunStatus.COMPLETED, answer="Done.", turns=1, tool_uses=1)
    await traces.end(root, ended)
    return [first, other]


@pytest.mark.requirement("agents:traces:query")
async def test_runs_are_listed_newest_first_and_by_what_was_in_them(site: Site) -> None:
    first, other = await two_runs(site)

    page = await site.ask("GET", TRACES, query="limit=1")
    rest = await site.ask("GET", TRACES, query=f"limit=1&after={page.json['next']}")
    done = await site.ask("GET", TRACES, query="status=completed&status=failed&error=tool_failed")
    mine = await site.ask("GET", TRACES, query="mine=true&text=ANA&tool=files.read&agent=clerk")
    none = await site.ask("GET", TRACES, query="until=2020-01-01T00:00:00Z")

    assert [line["run"] for line in page.json["data"] + rest.json["data"]] == [
        str(other.run),
        str(first.run),
    ]
    assert [line["run"] for line in done.json["data"]] == [str(first.run)]
    assert [line["run"] for line in mine.json["data"]] == [str(first.run)]
    assert none.json["data"] == []
    assert "history" not in page.json["data"][0]
    assert page.json["data"][0]["asked"] == "Write to Ana."


async def test_a_run_is_shown_with_all_that_was_said_in_it(site: Site) -> None:
    first, _ = await two_runs(site)

    shown = await site.ask("GET", f"{TRACES}/{first.run}")

    whole = shown.json
    assert shown.status == 200, whole
    assert whole["run"]["answer"] == "Done."
    assert whole["run"]["asked"] == "Write to Ana."
    assert whole["run"]["history"] == [{"by": "user", "text": "Before."}]
    assert [said["text"] for said in whole["said"]] == ["Write to Ana."]
    assert whole["turns"][0]["calls"][0]["arguments"] == {"a": 1}
    assert (whole["turns"][0]["took"], whole["turns"][0]["tokens_a_second"]) == (0.9, 40.0)
    assert (whole["uses"][0]["code"], whole["uses"][0]["arguments"]) == (
        "tool_failed",
        {"path": "/letter"},
    )


@pytest.mark.requirement("agents:traces:own")
async def test_the_runs_of_others_are_for_those_who_may(site: Site) -> None:
    first, other = await two_runs(site)
    key = await key_with(site, [Scope.AGENTS_READ])

    listed = await site.ask("GET", TRACES, key=key)
    own = await site.ask("GET", f"{TRACES}/{first.run}", key=key)
    hidden = [
        await site.ask("GET", f"{TRACES}/{other.run}{more}", key=key) for more in ("", "/export")
    ]
    stats = await site.ask("GET", "/api/v1/stats/tools", key=key)

    assert [line["run"] for line in listed.json["data"]] == [str(first.run)]
    assert own.status == 200
    assert {answer.json["code"] for answer in hidden} == {"agent_run_not_found"}
    assert [line["uses"] for line in stats.json["data"]] == [1]


async def test_a_run_is_exported_under_its_own_ids(site: Site) -> None:
    first, _ = await two_runs(site)

    answer = await site.ask("GET", f"{TRACES}/{first.run}/export")

    spans = answer.json["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert {span["traceId"] for span in spans} == {first.trace_id}
    assert "Ana" not in answer.body.decode()


async def test_tools_and_models_are_counted(site: Site) -> None:
    await two_runs(site)

    tools = await site.ask("GET", "/api/v1/stats/tools", query="tool=files.read")
    models = await site.ask("GET", "/api/v1/stats/models", query="agent=clerk&mine=false")
    none = await site.ask("GET", "/api/v1/stats/models", query="since=2100-01-01T00:00:00Z")

    assert tools.json["data"] == [
        {
            "tool": "files.read",
            "uses": 2,
            "failures": 2,
            "codes": {"tool_failed": 2},
            "early": 0,
            "p50": 0.01,
            "p95": 0.01,
            "last_at": tools.json["data"][0]["last_at"],
        }
    ]
    assert (models.json["data"][0]["turns"], models.json["data"][0]["money"]) == (2, "0.004")
    assert none.json["data"] == []
