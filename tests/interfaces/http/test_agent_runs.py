"""Runs of agents over REST: started once, followed to their end, steered, stopped."""

from dataclasses import replace
from decimal import Decimal

import pytest

from portico.agents.core.activation import RunInput
from portico.agents.core.events import (
    InputReceived,
    ReasoningDelta,
    RunNotice,
    ToolCallFinished,
    TurnFinished,
    TurnStarted,
)
from portico.agents.core.model_requests import Usage
from portico.agents.core.traces import AgentRunStatus
from portico.interfaces.http.streaming import Manners
from portico.kernel.ids import RunId
from tests.interfaces.http.asgi import Answer
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.desk import Desk, a_tool, joined, opened, text

PATH = "/api/v1/agents/clerk/runs"
WAIT = (b"prefer", b"wait=0")


@pytest.fixture
async def desk(site: Site) -> Desk:
    return await opened(site)


async def begun(desk: Desk, **more: object) -> RunId:
    answer = await desk.ask("POST", PATH, {"message": "Write to Bob.", **more})
    assert answer.status == 202, answer.json
    return RunId.parse(answer.json["run"])


def of_run(run: RunId, what: str) -> str:
    return f"/api/v1/agents/runs/{run}/{what}"


async def again(desk: Desk, *headers: tuple[bytes, bytes]) -> Answer:
    key = (b"idempotency-key", b"k1")
    return await desk.ask("POST", PATH, {"message": "Write to Bob."}, key, *headers)


async def test_a_run_is_started_and_found_at_its_trace(desk: Desk) -> None:
    answer = await desk.ask("POST", PATH, {"message": "Write to Bob."})

    run = RunId.parse(answer.json["run"])
    assert answer.status == 202
    assert answer.headers["location"] == f"/api/v1/traces/{run}"
    assert {name: value for name, value in answer.json.items() if value is not None} == {
        "run": str(run),
        "agent": "clerk",
        "agent_version": 1,
        "status": "running",
    }
    assert (await desk.trace(run)).said[0].text == "Write to Bob."


async def test_the_same_key_starts_one_and_hears_how_it_is(desk: Desk) -> None:
    first = await again(desk)
    run = RunId.parse(first.json["run"])
    await desk.ends(run)
    second = await again(desk)
    third = await again(desk, WAIT)

    assert await desk.started() == [run]
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert (second.status, second.json["status"]) == (202, "completed")
    assert (third.status, third.headers["preference-applied"]) == (200, "wait=0")
    assert third.json["answer"] == "It is sent."
    assert third.json["usage"] == {"input": 20, "output": 5, "cached": 10, "reported": True}
    assert third.json["money"] == "0.01"


async def test_wishes_narrow_what_the_agent_may(desk: Desk) -> None:
    limits = {"turns": 2, "money": "0.5", "calls": 0}
    run = await begun(desk, limits=limits, model="local:large", label="team")
    await desk.ends(run)
    other = await begun(desk, continues=str(run))

    found, _ = await desk.site.use.show_run(desk.ana, run)
    held = RunInput.from_json(found.input).agent.spec.limits
    usual = desk.clerk.spec.limits
    assert held == replace(usual, turns=2, money=Decimal("0.5"), calls=0)
    assert (await desk.trace(run)).run.model == "local:large"
    assert (await desk.trace(other)).run.continues == run


async def test_all_that_happens_is_told_with_its_name_and_place(desk: Desk) -> None:
    run = await begun(desk)
    usage = Usage(input=1, output=2)
    await desk.tell(
        run,
        TurnStarted(turn=1, model="local:small"),
        ReasoningDelta(turn=1, attempt=1, offset=0, text="Hm."),
        text("I shall\nwrite\ud83d"),
        TurnFinished(
            turn=1, model="local:small", usage=usage, money=Decimal("0.10"), notes=("A.",)
        ),
    )
    await desk.waits(run)
    await desk.tell(
        run,
        ToolCallFinished(
            turn=1, call="c1", tool="mail.send", text="Sent.", failed=False, seconds=0.5
        ),
        InputReceived(number=2, text="Quick!"),
        RunNotice(code="retry", message="Once more."),
    )
    await desk.ends(run)

    async with desk.stream(of_run(run, "events")) as stream:
        await stream.until(lambda: stream.complete)

    assert stream.names == [
        "turn.began",
        "thought.added",
        "text.added",
        "turn.ended",
        "tool.began",
        "tool.waits",
        "tool.ended",
        "message.heard",
        "noted",
        "run.ended",
        "end",
    ]
    told = {each.event: each.data for each in stream.events}
    assert told["text.added"]["text"] == "I shall\nwrite\ud83d"
    assert told["turn.ended"]["money"] == "0.10"
    assert told["turn.ended"]["notes"] == ["A."]
    assert told["turn.ended"]["usage"]["output"] == 2
    assert told["tool.waits"]["approval"].startswith("apr_")
    assert told["tool.waits"]["expires_at"].endswith("Z")
    assert told["run.ended"]["status"] == "completed"
    assert stream.headers["x-accel-buffering"] == "no"


async def test_one_goes_on_where_one_left_off(desk: Desk) -> None:
    run = await begun(desk)
    await desk.tell(run, text("One."), text("Two.", turn=2))
    await desk.ends(run)
    async with desk.stream(of_run(run, "events")) as stream:
        await stream.until(lambda: stream.complete)
    mark = str(stream.events[0].id).encode()

    async with desk.stream(of_run(run, "events"), None, (b"last-event-id", mark)) as stream:
        await stream.until(lambda: stream.complete)

    assert stream.names == ["text.added", "run.ended", "end"]


async def test_anothers_run_is_not_there_to_be_followed(desk: Desk) -> None:
    eve, _ = await joined(desk.site, "eve", roles=["member"])
    hidden = await desk.ask("GET", of_run(await begun(desk), "events"), key=eve)

    assert (hidden.status, hidden.json["code"]) == (404, "agent_run_not_found")


async def test_a_run_that_is_on_can_be_told_something(desk: Desk) -> None:
    run = await begun(desk)

    said = await desk.ask("POST", of_run(run, "messages"), {"message": "And to Eve."})
    await desk.ends(run)
    late = await desk.ask("POST", of_run(run, "messages"), {"message": "And to Ben."})

    assert (said.status, said.json["number"]) == (201, 2)
    assert (await desk.trace(run)).said[1].text == "And to Eve."
    assert (late.status, late.json["code"]) == (409, "agent_run_over")


async def test_what_is_sent_twice_under_one_key_is_said_once(desk: Desk) -> None:
    run, key = await begun(desk), (b"idempotency-key", b"said-once")

    for _ in range(2):
        said = await desk.ask("POST", of_run(run, "messages"), {"message": "And to Eve."}, key)

    assert (said.status, said.json["number"]) == (201, 2)
    assert said.headers["idempotency-replayed"] == "true"
    assert len((await desk.trace(run)).said) == 2


async def test_a_run_that_is_on_is_stopped_and_neither_taken_up_nor_resolved(desk: Desk) -> None:
    run = await begun(desk)

    resumed = await desk.ask("POST", of_run(run, "resume"))
    body = {"step": "call-1-0", "outcome": "done"}
    resolved = await desk.ask("POST", of_run(run, "resolve"), body)
    stopped = await desk.ask("POST", of_run(run, "stop"))

    assert (resumed.status, resumed.json["code"]) == (409, "run_not_over")
    assert resolved.status in {404, 409}
    assert (stopped.status, stopped.body) == (204, b"")
    assert await desk.runs.traces.stop_asked(desk.ana, run)


async def test_a_failed_run_says_why(desk: Desk) -> None:
    run = RunId.parse((await again(desk)).json["run"])
    await desk.ends(
        run,
        "",
        status=AgentRunStatus.FAILED,
        error="It does not answer.",
        error_code="model_unavailable",
    )

    answer = await again(desk, WAIT)

    assert (answer.json["status"], answer.json["error_code"]) == ("failed", "model_unavailable")
    assert answer.json["error"] == "It does not answer."


async def test_a_tool_that_waits_is_shown_to_whoever_asks_again(desk: Desk) -> None:
    run = RunId.parse((await again(desk)).json["run"])
    await desk.tell(run, a_tool())

    answer = await again(desk, WAIT)

    assert (answer.status, answer.json["status"]) == (202, "running")


async def test_whoever_may_see_less_by_now_hears_no_more(site: Site) -> None:
    desk = await opened(site, manners=Manners(heartbeat=0.02, wait_timeout=60.0))
    key, who = await joined(site, "op", roles=["operator"], clearance="team")
    run = await begun(desk)

    async with desk.stream(of_run(run, "events"), key=key) as stream:
        await desk.tell(run, text("before. "))
        await stream.takes(1)
        lowered = await site.ask("PATCH", f"/api/v1/principals/{who}", {"roles": ["viewer"]})
        await stream.until(lambda: stream.complete)
        await desk.tell(run, text("after.", 8))

    assert lowered.status == 200
    assert b"before." in stream.body
    assert b"after." not in stream.body


async def test_whoever_may_only_see_runs_is_not_told_how_the_agent_is_instructed(
    desk: Desk,
) -> None:
    run = await begun(desk)
    made = await desk.ask(
        "POST", "/api/v1/keys", {"name": "look", "scopes": ["runs:read"], "clearance": "team"}
    )

    seen = await desk.ask("GET", f"/api/v1/runs/{run}", key=made.json["key"])

    assert set(seen.json["input"]["agent"]) == {"id", "version", "name"}
    assert not {"asker", "context", "wished"} & set(seen.json["input"])
