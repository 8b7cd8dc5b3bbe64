"""Agents in the console: made, changed, compared, taken back, tried and removed."""

from dataclasses import replace
from typing import Any

from portico.agents.core.agents import Agent
from portico.agents.core.traces import AgentRunStatus
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal
from tests.interfaces.console.conftest import Browser

CLERK = {
    "name": "clerk",
    "model": "local:small",
    "description": "Writes letters.",
    "instructions": "You write letters.",
    "more": "files.read",
    "turns": "5",
    "label": "team",
    "tool_mode": "auto",
}


async def ana(console: Browser) -> Principal:
    return (await console.site.use.authenticate(console.site.key)).principal


async def made(console: Browser, **fields: Any) -> str:
    return await console.does("/agents/new", {**CLERK, **fields})


async def kept(console: Browser, name: str = "clerk") -> Agent:
    return await console.house.agents.show_agent(await ana(console), name)


async def test_a_template_fills_the_form(console: Browser) -> None:
    text = await console.sees("/agents/new?from=reviewer")

    assert 'value="reviewer"' in text
    assert "You read what others wrote" in text
    assert "builtin.read_file" in text


async def test_an_agent_is_made_once_and_listed(console: Browser) -> None:
    first = await made(console, once="a1")
    second = await made(console, once="a1")

    assert first == second == "/agents/clerk?done=made"
    agent = await kept(console)
    assert (agent.version, agent.spec.limits.turns, agent.spec.tools) == (1, 5, ("files.read",))
    text = await console.sees("/agents?q=letters")
    assert all(it in text for it in ('href="/agents/clerk"', "local:small", "never"))
    assert "No agent is called so." in await console.sees("/agents?q=birds")
    page = await console.sees("/agents/clerk")
    told = ("agent/clerk", "/v1/chat/completions", "Save as version 2", "Try it")
    assert [it for it in told if it not in page] == []


async def test_what_is_wrong_is_said_at_its_field_and_nothing_typed_is_lost(
    console: Browser,
) -> None:
    answer = await console.post(
        "/agents/new",
        {**CLERK, "name": "no good", "turns": "many", "more": "nothing.here", "temperature": "9"},
    )

    text = answer.body.decode()
    assert answer.status == 422
    for field in ("name", "turns", "tools", "temperature"):
        assert f'id="{field}-wrong"' in text
    assert 'value="no good"' in text
    assert 'value="many"' in text
    assert "You write letters.</textarea>" in text
    assert '<details class="card agents-more" open>' in text


async def test_saving_makes_a_version_unless_nothing_changed(console: Browser) -> None:
    await made(console)

    same = await console.does("/agents/clerk", {**CLERK, "was": "1"})
    saved = await console.does("/agents/clerk", {**CLERK, "turns": "6", "was": "1"})
    stale = await console.post("/agents/clerk", {**CLERK, "turns": "7", "was": "1"})

    assert same == "/agents/clerk?done=same"
    assert saved == "/agents/clerk?done=saved"
    assert stale.status == 409
    assert b'value="7"' in stale.body
    assert (await kept(console)).version == 2
    renamed = await console.does("/agents/clerk", {**CLERK, "name": "scribe", "was": "2"})
    assert renamed == "/agents/scribe?done=saved"
    assert (await console.get("/agents/clerk")).status == 404


async def test_versions_are_compared_and_taken_back(console: Browser) -> None:
    await made(console)
    await console.does("/agents/clerk", {**CLERK, "instructions": "You sing.", "was": "1"})

    text = await console.sees("/agents/clerk/versions")
    to = await console.does("/agents/clerk/restore", {"version": "1"})

    assert "From version 1 to 2" in text
    assert "You sing." in text
    assert to == "/agents/clerk?done=restored"
    assert (await kept(console)).spec.instructions == "You write letters."
    assert (await console.get("/agents/clerk/versions?from=1&to=99")).status == 404


async def test_an_agent_is_copied_exported_brought_in_and_removed(console: Browser) -> None:
    await made(console)

    copied = await console.does("/agents/clerk/duplicate", {"new_name": "scribe"})
    taken = await console.post("/agents/clerk/duplicate", {"new_name": "scribe"})
    toml = await console.get("/agents/scribe/export")
    removed = await console.does("/agents/scribe/remove")
    back = await console.does("/agents/import", {"toml": toml.body.decode()})
    bad = await console.post("/agents/import", {"toml": "name = "})

    assert copied == "/agents/scribe?done=duplicated"
    assert taken.status == 409
    assert toml.headers["content-disposition"] == 'attachment; filename="scribe.toml"'
    assert b'name = "scribe"' in toml.body
    assert removed == "/agents?done=removed"
    assert back == "/agents/scribe?done=made"
    assert bad.status == 422


async def test_an_agent_is_tried_beside_its_form(console: Browser) -> None:
    await made(console)
    htmx = (b"hx-request", b"true")

    to = await console.does("/agents/clerk/try", {"message": "Write to Bob."})
    page = await console.sees(to)
    run = RunId.parse(to.partition("?try=")[2])
    steered = await console.post(
        "/agents/clerk/try", {"message": "And to Eve.", "run": str(run)}, htmx
    )
    anew = await console.post(
        "/agents/clerk/try", {"message": "Else.", "run": str(run), "anew": "yes"}, htmx
    )
    empty = await console.post("/agents/clerk/try", {"message": ""}, htmx)

    assert f'data-live="talk:{run}@0"' in page
    assert "Write to Bob." in page
    assert b"read at its next turn" in steered.body
    assert b'id="try"' in anew.body
    assert str(run).encode() not in anew.body
    assert (empty.status, empty.headers["hx-retarget"]) == (422, "#try .agents-talk")


async def test_a_tried_run_is_gone_on_with_when_it_has_answered(console: Browser) -> None:
    await made(console)
    to = await console.does("/agents/clerk/try", {"message": "Write to Bob."})
    run = RunId.parse(to.partition("?try=")[2])
    runs, caller = console.site.agent_runs, await ana(console)
    over = (await runs.traces.read(caller, run)).run
    await runs.traces.end(caller, replace(over, status=AgentRunStatus.COMPLETED))

    on = await console.does("/agents/clerk/try", {"message": "And to Eve.", "run": str(run)})

    other = RunId.parse(on.partition("?try=")[2])
    assert (await runs.traces.read(caller, other)).run.continues == run


async def test_the_form_is_drawn_again_to_look_for_tools(console: Browser) -> None:
    answer = await console.post("/agents/new", {**CLERK, "find": "read", "look": "yes"})

    assert answer.status == 200
    assert b'value="read"' in answer.body
    assert b"You write letters.</textarea>" in answer.body
    assert (await console.get("/agents/clerk")).status == 404
