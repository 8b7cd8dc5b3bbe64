"""Suggestions over REST: asked for, run, and judged."""

import pytest

from tests.faces.http.conftest import Site
from tests.faces.http.test_workflows import open_box, ran

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
    judgment = {"run": made["suggestion"], "outcome": "rejected"}
    before = await site.ask("POST", FEEDBACK, judgment)
    run = (await ran(site, {"suggestion": made["suggestion"]})).json["run"]

    by_run = await site.ask("POST", FEEDBACK, {"run": run, "outcome": "rejected"})
    by_id = await site.ask("POST", FEEDBACK, {"run": made["suggestion"], "outcome": "modified"})

    assert (before.status, before.json["run"]) == (200, None)
    judged = {"suggestion": made["suggestion"], "run": run}
    assert by_run.json == {**judged, "outcome": "rejected"}
    assert by_id.json == {**judged, "outcome": "modified"}
