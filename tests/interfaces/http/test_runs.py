"""Runs over REST, carried out in this process."""

import asyncio
from typing import Any

import pytest
from dirty_equals import IsStr
from inline_snapshot import snapshot

from portico.engine.core.runs import RunStatus
from tests.interfaces.http.asgi import Answer, Header, ask, bearing
from tests.interfaces.http.conftest import Site

pytestmark = pytest.mark.usefixtures("nothing_blocks")

RUNS = "/api/v1/runs"
RUN_ID = IsStr(regex="run_[0-9a-z]{26}")
TIME = IsStr(regex=r"2026-01-\d\dT.*Z")
UNKNOWN = f"run_{'0' * 26}"


def with_key(key: str) -> tuple[Header, ...]:
    return ((b"idempotency-key", key.encode()),)


def waiting(seconds: int) -> tuple[Header, ...]:
    return ((b"prefer", f"wait={seconds}".encode()),)


async def started(site: Site, **given: Any) -> Answer:
    return await site.ask("POST", RUNS, {"kind": "drill", "input": given})


async def ended(site: Site, **given: Any) -> Any:
    wish = {"kind": "drill", "input": given}
    answer = await site.ask("POST", RUNS, wish, headers=waiting(4))
    assert answer.status == 200
    return answer.json


async def until(site: Site, run: str, status: RunStatus) -> Any:
    while (shown := (await site.ask("GET", f"{RUNS}/{run}")).json)["status"] != status:  # noqa: ASYNC110 # seen only from outside
        await asyncio.sleep(0.005)
    return shown


async def test_a_run_is_taken_in_and_told_where_to_find(site: Site) -> None:
    answer = await started(site, steps=2)

    assert answer.status == 202
    assert answer.headers["location"] == f"{RUNS}/{answer.json['id']}"
    assert "idempotency-replayed" not in answer.headers
    assert answer.json == {
        "id": RUN_ID,
        "kind": "drill",
        "status": "queued",
        "principal": IsStr(regex="prn_.*"),
        "label": "team",
        "created_at": TIME,
        "started_at": None,
        "finished_at": None,
        "waits_for": [],
        "wakes_at": None,
        "attempts": 0,
        "forked_from": None,
        "error": None,
        "input": {"steps": 2},
        "result": None,
    }


async def test_whoever_prefers_to_wait_gets_the_run_as_it_ended(site: Site) -> None:
    async with site.working():
        wish = {"kind": "drill", "input": {"steps": 2}}
        answer = await site.ask("POST", RUNS, wish, headers=waiting(4))

    assert (answer.status, answer.headers["preference-applied"]) == (200, "wait=4")
    assert answer.json["result"] == snapshot(
        {"steps": 2, "processes": ["this process"], "taken_over": 0, "answer": None}
    )


async def test_only_a_wait_that_can_be_read_is_applied_and_may_be_in_vain(site: Site) -> None:
    waits = ["wait=0", "respond-async, wait=0", 'wait="0"; x=y']
    others = ["", "respond-async", "wait", "wait=soon", "await=5", "wait=-1"]

    for prefer in (*waits, *others):
        headers = ((b"prefer", prefer.encode()),)
        answer = await site.ask("POST", RUNS, {"kind": "drill"}, headers=headers)

        assert (answer.status, answer.json["status"]) == (202, "queued")
        applied = "wait=0" if prefer in waits else None
        assert answer.headers.get("preference-applied") == applied, prefer


async def test_runs_are_found_by_status_and_kind(site: Site) -> None:
    cancelled, queued = [(await started(site)).json["id"] for _ in range(2)]
    await site.ask("POST", f"{RUNS}/{cancelled}/cancel")

    async def found(query: str) -> list[str]:
        return [each["id"] for each in (await site.ask("GET", RUNS, query=query)).json["data"]]

    assert await found("status=queued") == [queued]
    assert await found("status=cancelled&status=failed") == [cancelled]
    assert await found("status=queued&status=cancelled&kind=drill") == [queued, cancelled]
    assert await found("kind=other") == []


async def test_a_run_is_shown_with_its_steps(site: Site) -> None:
    async with site.working():
        run = await ended(site, steps=2, pause=1)

        shown = (await site.ask("GET", f"{RUNS}/{run['id']}")).json
        (line,) = (await site.ask("GET", RUNS)).json["data"]

    assert line["steps_over"] == 3
    assert line.keys().isdisjoint({"input", "result", "steps"})
    assert [(step["name"], step["state"]) for step in shown["steps"]] == snapshot(
        [("step-1", "done"), ("pause-1", "done"), ("step-2", "done")]
    )
    assert shown["steps"][0] == {
        "name": "step-1",
        "state": "done",
        "started_at": TIME,
        "finished_at": TIME,
        "due_at": None,
        "output": {"at": IsStr(), "process": "this process"},
        "error": None,
    }


async def test_a_failure_is_told_with_its_step(site: Site) -> None:
    async with site.working():
        run = await ended(site, steps=3, fail_at=2)

    assert run["status"] == "failed"
    assert run["error"] == snapshot(
        {
            "type": "StepFailed",
            "message": "The step 'step-2' failed: It was told to fail here.",
            "code": "step_failed",
            "step": "step-2",
        }
    )


async def test_a_run_that_asks_goes_on_with_the_first_answer(site: Site) -> None:
    async with site.working():
        run = (await started(site, steps=1, ask=True)).json["id"]
        assert (await until(site, run, RunStatus.WAITING))["waits_for"] == ["answer"]

        path = f"{RUNS}/{run}/signals/answer"
        told = await site.ask("POST", path, {"payload": {"yes": "é\N{SNOWMAN}"}})
        late = await site.ask("POST", path, {"payload": None})
        done = await until(site, run, RunStatus.DONE)

    assert told.status == 200
    assert (late.status, late.json["code"]) in [(409, "already_answered"), (409, "run_over")]
    assert done["result"]["answer"] == {"yes": "é\N{SNOWMAN}"}


@pytest.mark.parametrize("payload", ['{"payload": NaN}', '{"payload": "\\ud800"}'])
async def test_what_cannot_be_kept_is_not_sent(site: Site, payload: str) -> None:
    run = (await started(site, ask=True)).json["id"]
    path, body = f"{RUNS}/{run}/signals/answer", payload.encode()
    answer = await ask(site.app, "POST", path, headers=bearing(site.key), body=body)

    assert (answer.status, answer.json["code"]) == (422, "not_canonical")


async def test_a_cancelled_run_is_taken_up_again(site: Site) -> None:
    run = (await started(site, steps=1)).json["id"]

    cancelled = await site.ask("POST", f"{RUNS}/{run}/cancel")
    twice = await site.ask("POST", f"{RUNS}/{run}/cancel")
    resumed = await site.ask("POST", f"{RUNS}/{run}/resume")
    again = await site.ask("POST", f"{RUNS}/{run}/resume")
    async with site.working():
        await until(site, run, RunStatus.DONE)

    assert (cancelled.status, cancelled.json["status"]) == (200, "cancelled")
    assert (twice.status, twice.json["code"]) == (409, "run_over")
    assert (resumed.status, resumed.json["status"]) == (200, "queued")
    assert (again.status, again.json["code"]) == (409, "run_not_over")


@pytest.mark.requirement("runs:fork:from-a-step")
async def test_a_fork_keeps_what_came_before(site: Site) -> None:
    async with site.working():
        source = await ended(site, steps=3)
        path, body = f"{RUNS}/{source['id']}/fork", {"step": "step-2"}
        forked = await site.ask("POST", path, body, headers=with_key("f"))
        again = await site.ask("POST", path, body, headers=with_key("f"))
        fork = await until(site, forked.json["id"], RunStatus.DONE)
        shown = (await site.ask("GET", f"{RUNS}/{source['id']}")).json

    assert (forked.status, forked.headers["location"]) == (202, f"{RUNS}/{fork['id']}")
    assert (again.json["id"], again.headers["idempotency-replayed"]) == (fork["id"], "true")
    assert fork["forked_from"] == source["id"]
    assert fork["steps"][0] == shown["steps"][0]
    assert fork["steps"][1]["finished_at"] > shown["steps"][2]["finished_at"]


async def test_a_run_that_is_not_there_cannot_be_told_from_one_above(site: Site) -> None:
    above = await site.ask("POST", RUNS, {"kind": "drill", "label": "restricted"})
    who = {"kind": "worker", "name": "op", "roles": ["operator"], "clearance": "team"}
    made = await site.ask("POST", "/api/v1/principals", who)
    wish = {"name": "k", "principal": made.json["id"]}
    key = (await site.ask("POST", "/api/v1/keys", wish)).json["key"]

    for method, path, body in [
        ("GET", "", None),
        ("POST", "/cancel", None),
        ("POST", "/resume", None),
        ("POST", "/fork", {"step": "a"}),
        ("POST", "/signals/a", {}),
    ]:
        unknown = await site.ask(method, f"{RUNS}/{UNKNOWN}{path}", body, key=key)
        hidden = await site.ask(method, f"{RUNS}/{above.json['id']}{path}", body, key=key)

        assert (unknown.status, unknown.json["code"]) == (404, "run_not_found")
        assert hidden.json == unknown.json | {
            "detail": unknown.json["detail"].replace(UNKNOWN, above.json["id"])
        }
