"""Workflows and programs over REST: run, looked at, saved; suggested, and judged."""

from typing import Any

import pytest

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.testing.gateway import seen, text
from portico.testing.gateway_fakes import ANYTHING
from tests.interfaces.http.asgi import Answer as HttpAnswer
from tests.interfaces.http.asgi import Header
from tests.interfaces.http.conftest import Site, built
from tests.interfaces.http.desk import joined
from tests.interfaces.http.test_servers import LAUNCH

LOOK, NOTE = ToolRef("box", "look"), ToolRef("box", "note")
PLANS = "/api/v1/workflows"
SAVED = "/api/v1/saved-workflows"
WAIT: Header = (b"prefer", b"wait=60")
PLAN: dict[str, Any] = {
    "steps": [
        {"id": "look", "tool": "box.look"},
        {"id": "note", "tool": "box.note", "after": ["look"]},
    ],
    "output": {"$from": "look.text"},
}


async def open_box(site: Site) -> None:
    """A server `box` with `look`, which reads, and `note`, which writes."""
    site.upstreams.offers["box"] = seen({"name": "look"}, {"name": "note"})
    await site.ask("POST", "/api/v1/servers", {"name": "box", "launch": LAUNCH})
    shown = await site.ask("GET", "/api/v1/servers/box/review")
    approve = {"launch_pin": shown.json["launch_pin"]}
    await site.ask("POST", "/api/v1/servers/box/approve-launch", approve)
    await site.ask("POST", "/api/v1/servers/box/restart")
    pin = (await site.ask("GET", "/api/v1/servers/box/review")).json["pin"]
    effects = {"look": "local_read", "note": "local_write"}
    accepted = await site.ask(
        "POST", "/api/v1/servers/box/accept", {"pin": pin, "effects": effects}
    )
    assert accepted.status == 200, accepted.json
    site.upstreams.replies |= {LOOK: text("seen"), NOTE: text("noted")}


async def ran(site: Site, body: dict[str, Any], **more: Any) -> HttpAnswer:
    async with site.working():
        return await site.ask("POST", PLANS, body, headers=(WAIT,), **more)


async def test_a_plan_is_run_to_its_end_and_found_again(site: Site) -> None:
    await open_box(site)

    answer = await ran(site, {"plan": PLAN})
    shown = await site.ask("GET", f"{PLANS}/{answer.json['run']}")
    listed = await site.ask("GET", PLANS)

    assert answer.status == 200, answer.json
    assert (answer.json["status"], answer.json["output"]) == ("done", "seen")
    assert answer.headers["location"] == f"{PLANS}/{answer.json['run']}"
    assert shown.json == answer.json
    assert [step["state"] for step in shown.json["steps"]] == ["done", "done"]
    assert [line["run"] for line in listed.json["data"]] == [answer.json["run"]]
    counts = [listed.json["data"][0][each] for each in ("steps_over", "steps_done", "steps")]
    assert counts == [2, 2, 2]


async def test_without_waiting_it_is_accepted(site: Site) -> None:
    await open_box(site)

    answer = await site.ask("POST", PLANS, {"plan": PLAN})
    again = await site.ask("GET", f"{PLANS}/{answer.json['run']}")

    assert (answer.status, answer.json["status"]) == (202, "queued")
    assert again.json["steps"][0]["state"] == "pending"


@pytest.mark.parametrize("path", [PLANS, f"{PLANS}/check"])
async def test_a_plan_that_cannot_be_carried_out_names_every_place(site: Site, path: str) -> None:
    await open_box(site)
    bad = {"steps": [{"id": "a", "tool": "box.lok"}, {"id": "a", "tool": "box.look", "x": 1}]}

    answer = await site.ask("POST", path, {"plan": bad})

    if path == PLANS:
        assert (answer.status, answer.json["code"]) == (422, "bad_plan")
        places = {error["field"] for error in answer.json["errors"]}
    else:
        assert (answer.status, answer.json["ok"]) == (200, False)
        places = {flaw["place"] for flaw in answer.json["flaws"]}
    assert {"/steps/1/x", "/steps/1/id"} <= places
    assert site.upstreams.called == []


async def test_what_a_plan_would_do_is_told_and_not_done() -> None:
    ask = Rule(name="notes", ruling=Ruling.ASK, tools=("box.note",), source=RuleSource.FILE)
    site = await built([ANYTHING, ask])
    await open_box(site)

    answer = await site.ask("POST", f"{PLANS}/check", {"plan": PLAN})

    look, note = answer.json["steps"]
    assert note.pop("approval")["rule"] == "notes"
    assert {**answer.json, "steps": [look, note]} == {
        "ok": True,
        "flaws": [],
        "name": None,
        "effect": "local_write",
        "order": ["look", "note"],
        "critical_path": ["look", "note"],
        "steps": [
            {
                "id": "look",
                "tool": "box.look",
                "effect": "local_read",
                "needs": [],
                "approval": None,
            },
            {
                "id": "note",
                "tool": "box.note",
                "effect": "local_write",
                "needs": ["look"],
            },
        ],
    }
    assert site.upstreams.called == []


async def test_what_was_stopped_is_resumed_and_forked(site: Site) -> None:
    await open_box(site)
    site.upstreams.replies[NOTE] = ToolResult([{"type": "text", "text": "no"}], failed=True)
    failed = await ran(site, {"plan": PLAN})
    run = failed.json["run"]
    site.upstreams.replies[NOTE] = text("noted")

    resumed = await site.ask("POST", f"{PLANS}/{run}/resume")
    async with site.working():
        over = await site.ask("GET", f"{PLANS}/{run}", query="wait=60")
    forked = await site.ask("POST", f"{PLANS}/{run}/fork", {"step": "note"})
    cancelled = await site.ask("POST", f"{PLANS}/{forked.json['run']}/cancel")

    assert (failed.json["status"], failed.json["error"]["step"]) == ("failed", "note")
    assert resumed.status == 200
    assert over.json["status"] == "done"
    assert (forked.status, forked.json["forked_from"]) == (202, run)
    assert cancelled.json["status"] == "cancelled"


async def test_of_somebody_elses_one_sees_how_it_went_and_nothing_that_it_gave(site: Site) -> None:
    await open_box(site)
    run = (await ran(site, {"plan": PLAN})).json["run"]
    key, _ = await joined(site, "other", roles=["viewer"], clearance="restricted")

    shown = await site.ask("GET", f"{PLANS}/{run}", key=key)

    assert shown.json["status"] == "done"
    assert (shown.json["output"], shown.json["output_handle"]) == (None, None)
    assert all(step["handle"] is None for step in shown.json["steps"])


async def test_a_run_of_another_kind_is_no_workflow(site: Site) -> None:
    drill = await site.ask("POST", "/api/v1/runs", {"kind": "drill"})

    answer = await site.ask("GET", f"{PLANS}/{drill.json['id']}")

    assert (answer.status, answer.json["code"]) == (404, "run_not_found")


async def test_one_is_saved_shown_run_by_name_and_removed(site: Site) -> None:
    await open_box(site)
    plan = {**PLAN, "inputs": {"who": {"type": "string"}}, "required": ["who"]}

    saved = await site.ask("PUT", f"{SAVED}/tidy", {"plan": plan, "description": "Tidies up."})
    shown = await site.ask("GET", f"{SAVED}/tidy")
    listed = await site.ask("GET", SAVED)
    lacking = await site.ask("POST", PLANS, {"name": "tidy"})
    answer = await ran(site, {"name": "tidy", "inputs": {"who": "ana"}})
    removed = await site.ask("DELETE", f"{SAVED}/tidy")
    gone = await site.ask("GET", f"{SAVED}/tidy")

    assert saved.status == 200, saved.json
    assert saved.json == shown.json
    assert (shown.json["tool"], shown.json["effect"]) == ("workflows.tidy", "local_write")
    assert shown.json["plan"] == plan
    assert shown.json["input_schema"]["required"] == ["who"]
    assert [line["name"] for line in listed.json["data"]] == ["tidy"]
    assert "plan" not in listed.json["data"][0]
    assert lacking.status == 422
    assert answer.json["output"] == "seen"
    assert (removed.status, gone.status, gone.json["code"]) == (204, 404, "workflow_not_found")


async def test_its_journal_tells_nobody_what_it_gave(site: Site) -> None:
    await open_box(site)
    run = (await ran(site, {"plan": PLAN})).json["run"]
    known = {"step": "note", "outcome": "done"}

    shown = await site.ask("GET", f"/api/v1/runs/{run}")
    resolved = await site.ask("POST", f"{PLANS}/{run}/resolve", known)

    assert "seen" not in str(shown.json)
    assert "box.look" in str(shown.json)
    assert (resolved.status, resolved.json["code"]) == (409, "not_uncertain")


async def test_a_program_is_answered_as_a_workflow_is(site: Site) -> None:
    async with site.working():
        answer = await site.ask("POST", "/api/v1/programs", {"code": "1"}, headers=(WAIT,))
    shown = await site.ask("GET", f"{PLANS}/{answer.json['run']}")

    assert answer.status == 200, answer.json
    assert (answer.json["kind"], answer.json["steps"]) == ("program", [])
    assert answer.headers["location"] == f"{PLANS}/{answer.json['run']}"
    assert shown.json["run"] == answer.json["run"]


SUGGESTIONS = "/api/v1/suggestions"
FEEDBACK = "/api/v1/feedback"


@pytest.mark.requirement("seed001:12")
async def test_what_is_wanted_is_answered_by_a_plan_that_can_be_run(site: Site) -> None:
    await open_box(site)

    made = await site.ask("POST", SUGGESTIONS, {"intent": "look into the box"})

    assert made.status == 200, made.json
    assert made.json["mode"] == "suggestion"
    assert [step["tool"] for step in made.json["steps"]] == ["box.look"]
    assert made.json["ran_ahead"] == made.json["staged"] == []
    run = await ran(site, {"suggestion": made.json["suggestion"]})
    assert (run.status, run.json["status"]) == (200, "done")


@pytest.mark.requirement("seed001:13")
async def test_it_is_judged_by_its_id_or_by_its_run(site: Site) -> None:
    await open_box(site)
    made = (await site.ask("POST", SUGGESTIONS, {"intent": "look into the box"})).json
    run = (await ran(site, {"suggestion": made["suggestion"]})).json["run"]

    by_run = await site.ask("POST", FEEDBACK, {"run": run, "outcome": "rejected"})
    by_id = await site.ask("POST", FEEDBACK, {"run": made["suggestion"], "outcome": "modified"})

    judged = {"suggestion": made["suggestion"], "run": run}
    assert by_run.json == {**judged, "outcome": "rejected"}
    assert by_id.json == {**judged, "outcome": "modified"}


async def test_one_that_was_not_run_can_be_judged(site: Site) -> None:
    await open_box(site)
    made = (await site.ask("POST", SUGGESTIONS, {"intent": "look into the box"})).json

    judged = await site.ask("POST", FEEDBACK, {"run": made["suggestion"], "outcome": "rejected"})

    assert (judged.status, judged.json["run"]) == (200, None)
