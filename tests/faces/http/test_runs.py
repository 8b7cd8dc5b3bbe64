"""Runs over REST, carried out in this process."""

import asyncio
from datetime import datetime
from typing import Any

import pytest
from dirty_equals import IsStr
from inline_snapshot import snapshot

from portico.engine.core.run import RunStatus
from portico.faces.http.paging import opaque
from tests.faces.http.asgi import Answer, Header
from tests.faces.http.conftest import Site

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


async def a_key(site: Site, *, role: str, clearance: str = "team", scopes: Any = None) -> str:
    who = {"kind": "worker", "name": f"{role} {clearance}", "roles": [role], "clearance": clearance}
    made = await site.ask("POST", "/api/v1/principals", who)
    wish = {"name": "k", "principal": made.json["id"], "scopes": scopes}
    key: str = (await site.ask("POST", "/api/v1/keys", wish)).json["key"]
    return key


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


@pytest.mark.parametrize("prefer", ["wait=0", "respond-async, wait=0", 'wait="0"; x=y'])
async def test_whoever_has_waited_in_vain_gets_the_run_as_it_is(site: Site, prefer: str) -> None:
    headers = ((b"prefer", prefer.encode()),)

    answer = await site.ask("POST", RUNS, {"kind": "drill"}, headers=headers)

    assert (answer.status, answer.json["status"]) == (202, "queued")
    assert answer.headers["preference-applied"] == "wait=0"


@pytest.mark.parametrize("prefer", ["", "respond-async", "wait", "wait=soon", "await=5", "wait=-1"])
async def test_what_is_preferred_in_another_way_is_left_alone(site: Site, prefer: str) -> None:
    headers = ((b"prefer", prefer.encode()),)

    answer = await site.ask("POST", RUNS, {"kind": "drill"}, headers=headers)

    assert (answer.status, "preference-applied" in answer.headers) == (202, False)


@pytest.mark.requirement("runs:start:once")
async def test_a_repeated_start_gives_the_same_run(site: Site) -> None:
    wish = {"kind": "drill", "input": {"steps": 2}}
    first = await site.ask("POST", RUNS, wish, headers=with_key("k1"))
    second = await site.ask("POST", RUNS, wish, headers=with_key("k1"))
    other = await site.ask("POST", RUNS, wish, headers=with_key("k2"))

    assert (first.status, second.status) == (202, 202)
    assert first.json == second.json
    assert second.headers["idempotency-replayed"] == "true"
    assert other.json["id"] != first.json["id"]
    assert len((await site.ask("GET", RUNS)).json["data"]) == 2


@pytest.mark.requirement("runs:start:once")
async def test_a_key_with_another_wish_is_refused(site: Site) -> None:
    await site.ask("POST", RUNS, {"kind": "drill"}, headers=with_key("k1"))

    wish = {"kind": "drill", "input": {"steps": 9}}
    answer = await site.ask("POST", RUNS, wish, headers=with_key("k1"))

    assert (answer.status, answer.json["code"]) == (422, "idempotency_key_reused")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"kind": "nothing"}, "kind_not_found"),
        ({"kind": "drill", "input": {"steps": 0}}, "bad_input"),
        ({"kind": "drill", "input": {"stteps": 1}}, "bad_input"),
        ({"kind": "drill", "input": []}, "invalid_request"),
        ({"kind": "drill", "inputs": {}}, "invalid_request"),
        ({"kind": "drill", "label": "secret"}, "invalid_request"),
        ({"kind": "drill\n"}, "invalid_request"),
        ({}, "invalid_request"),
    ],
)
async def test_a_wish_that_cannot_be_met_starts_nothing(site: Site, body: Any, code: str) -> None:
    answer = await site.ask("POST", RUNS, body)

    assert (answer.status, answer.json["code"]) == (422, code)
    assert (await site.ask("GET", RUNS)).json["data"] == []


async def test_an_input_that_is_too_deep_is_refused(site: Site) -> None:
    deep: Any = []
    for _ in range(400):
        deep = [deep]

    answer = await started(site, steps=deep)

    assert (answer.status, answer.json["code"]) == (422, "invalid_request")


async def test_nobody_starts_what_they_could_not_read(site: Site) -> None:
    key = await a_key(site, role="member")
    body = {"kind": "drill", "label": "confidential"}

    answer = await site.ask("POST", RUNS, body, key=key)

    assert (answer.status, answer.json["code"]) == (403, "topic_refused")


async def test_runs_are_listed_newest_first_page_by_page(site: Site) -> None:
    ids = [(await started(site)).json["id"] for _ in range(5)]

    first = await site.ask("GET", RUNS, query="limit=3")
    second = await site.ask("GET", RUNS, query=f"limit=3&after={first.json['next']}")

    shown = [each["id"] for each in [*first.json["data"], *second.json["data"]]]
    assert shown == ids[::-1]
    assert second.json["next"] is None


async def test_a_page_goes_on_after_a_run_that_was_forgotten_meanwhile(site: Site) -> None:
    older, last, _ = [(await started(site)).json for _ in range(3)]
    cursor = opaque(f"{datetime.fromisoformat(last['created_at']).isoformat()} {UNKNOWN}")

    page = await site.ask("GET", RUNS, query=f"after={cursor}")

    assert [each["id"] for each in page.json["data"]] == [older["id"]]


@pytest.mark.parametrize(
    "place",
    [
        "",
        UNKNOWN,
        f"yesterday {UNKNOWN}",
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T00:00:00+00:00 run_1",
        f"2026-01-01T00:00:00 {UNKNOWN}",
        f"2026-01-01T02:00:00+02:00 {UNKNOWN}",
        f"0001-01-01T00:00:00+14:00 {UNKNOWN}",
        f"2026-01-01T00:00:00+00:00 {UNKNOWN} and more",
    ],
)
async def test_a_place_in_the_list_that_is_not_ours_is_refused(site: Site, place: str) -> None:
    answer = await site.ask("GET", RUNS, query=f"after={opaque(place)}")

    assert (answer.status, answer.json["code"]) == (422, "bad_cursor")


async def test_a_listed_run_says_how_far_it_is_and_not_what_it_holds(site: Site) -> None:
    async with site.working():
        await ended(site, steps=4)

    (line,) = (await site.ask("GET", RUNS)).json["data"]

    assert line["steps_over"] == 4
    assert line.keys().isdisjoint({"input", "result", "steps"})


async def test_runs_are_found_by_status_and_kind(site: Site) -> None:
    cancelled, queued = [(await started(site)).json["id"] for _ in range(2)]
    await site.ask("POST", f"{RUNS}/{cancelled}/cancel")

    async def found(query: str) -> list[str]:
        return [each["id"] for each in (await site.ask("GET", RUNS, query=query)).json["data"]]

    assert await found("status=queued") == [queued]
    assert await found("status=cancelled&status=failed") == [cancelled]
    assert await found("status=queued&status=cancelled&kind=drill") == [queued, cancelled]
    assert await found("kind=other") == []


@pytest.mark.parametrize("query", ["status=gone", "kind=%00", "limit=0", "after=%C3%A9"])
async def test_a_question_that_makes_no_sense_is_refused(site: Site, query: str) -> None:
    assert (await site.ask("GET", RUNS, query=query)).status == 422


async def test_a_run_is_shown_with_its_steps(site: Site) -> None:
    async with site.working():
        run = await ended(site, steps=2, pause=1)

        shown = (await site.ask("GET", f"{RUNS}/{run['id']}")).json

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
    from tests.faces.http.asgi import ask
    from tests.faces.http.conftest import HOST

    run = (await started(site, ask=True)).json["id"]
    bearer = (b"authorization", f"Bearer {site.key}".encode())
    kind = (b"content-type", b"application/json")

    path = f"{RUNS}/{run}/signals/answer"
    answer = await ask(site.app, "POST", path, headers=[HOST, bearer, kind], body=payload.encode())

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


async def test_a_fork_needs_a_step_that_has_ended(site: Site) -> None:
    run = (await started(site)).json["id"]

    answer = await site.ask("POST", f"{RUNS}/{run}/fork", {"step": "step-1"})

    assert (answer.status, answer.json["code"]) == (404, "step_not_found")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("POST", "/cancel", None),
        ("POST", "/resume", None),
        ("POST", "/fork", {"step": "a"}),
        ("POST", "/signals/a", {}),
    ],
)
async def test_a_run_that_is_not_there_cannot_be_told_from_one_above(
    site: Site, method: str, path: str, body: Any
) -> None:
    above = await site.ask("POST", RUNS, {"kind": "drill", "label": "restricted"})
    key = await a_key(site, role="operator")

    unknown = await site.ask(method, f"{RUNS}/{UNKNOWN}{path}", body, key=key)
    hidden = await site.ask(method, f"{RUNS}/{above.json['id']}{path}", body, key=key)

    assert (unknown.status, unknown.json["code"]) == (404, "run_not_found")
    assert hidden.json == unknown.json | {
        "detail": unknown.json["detail"].replace(UNKNOWN, above.json["id"])
    }


async def test_stepping_in_on_somebody_elses_run_needs_a_scope_of_its_own(site: Site) -> None:
    run = (await started(site)).json["id"]
    member = await a_key(site, role="member")
    operator = await a_key(site, role="operator")

    refused = await site.ask("POST", f"{RUNS}/{run}/cancel", key=member)
    seen = await site.ask("GET", f"{RUNS}/{run}", key=member)
    done = await site.ask("POST", f"{RUNS}/{run}/cancel", key=operator)

    assert (refused.status, refused.json["code"]) == (403, "not_permitted")
    assert (seen.status, done.status) == (200, 200)


async def test_a_viewer_looks_and_starts_nothing(site: Site) -> None:
    run = (await started(site)).json["id"]
    viewer = await a_key(site, role="viewer")

    assert (await site.ask("GET", f"{RUNS}/{run}", key=viewer)).status == 200
    assert (await site.ask("POST", RUNS, {"kind": "drill"}, key=viewer)).status == 403


async def test_a_key_that_may_only_start_runs_can_wait_for_its_own(site: Site) -> None:
    key = await a_key(site, role="member", scopes=["runs:write"])

    async with site.working():
        answer = await site.ask("POST", RUNS, {"kind": "drill"}, key=key, headers=waiting(4))

    assert (answer.status, answer.json["status"]) == (200, "done")
    assert (await site.ask("GET", RUNS, key=key)).status == 403
