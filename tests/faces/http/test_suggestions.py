"""Suggestions over REST: asked for, run, and judged."""

import pytest

from tests.faces.http.conftest import Site
from tests.faces.http.test_workflows import PLANS, open_box, ran

SUGGESTIONS = "/api/v1/suggestions"
FEEDBACK = "/api/v1/feedback"
NOBODYS = "0" * 26


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

    said = await site.ask("POST", FEEDBACK, {"run": made["suggestion"], "outcome": "rejected"})

    assert (said.status, said.json["run"]) == (200, None)


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        (SUGGESTIONS, {"intent": ""}, 422, "invalid_request"),
        (SUGGESTIONS, {"intent": " "}, 422, "bad_intent"),
        (SUGGESTIONS, {"intent": "x" * 2_001}, 422, "invalid_request"),
        (FEEDBACK, {"run": "x", "outcome": "accepted"}, 422, "invalid_request"),
        (FEEDBACK, {"run": f"sug_{NOBODYS}", "outcome": "unclaimed"}, 422, "invalid_request"),
        (FEEDBACK, {"run": f"sug_{NOBODYS}", "outcome": "accepted"}, 404, "suggestion_not_found"),
        (FEEDBACK, {"run": f"run_{NOBODYS}", "outcome": "accepted"}, 404, "nothing_suggested"),
        (PLANS, {"suggestion": f"sug_{NOBODYS}"}, 404, "suggestion_not_found"),
        (PLANS, {"suggestion": "sug_1"}, 422, "invalid_request"),
        (PLANS, {"intent": "look"}, 422, "one_of_plan_and_name"),
    ],
)
async def test_what_cannot_be_is_refused(
    site: Site, path: str, body: dict[str, str], status: int, code: str
) -> None:
    answer = await site.ask("POST", path, body)

    assert (answer.status, answer.json["code"]) == (status, code)
