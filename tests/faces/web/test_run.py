"""The page of a run: its plan, its times, each step, and what can be done about it."""

import json
import re

from portico.testing.upstreams import text
from tests.faces.http.test_workflows import LOOK, WAIT
from tests.faces.web.conftest import Browser
from tests.faces.web.run_stage import (
    PLAN,
    an_agents,
    opened,
    person,
    ran,
)


async def test_a_run_is_drawn_with_its_plan_its_times_and_a_step(console: Browser) -> None:
    await opened(console)
    run = await ran(console.site, intent="Tidy up what lies around.")

    page = await console.sees(f"/runs/{run}")

    assert "<h1>Tidy up</h1>" in page
    assert "Tidy up what lies around." in page
    assert re.search(
        r'<a id="n0" class="run-node"[^>]*data-s="done"[^>]*"look box · done [^>]*, step look"',
        page,
    )
    assert 'id="b1"' in page
    assert "← look.text" in page
    assert "style=" not in page
    assert "<script>" not in page


async def test_a_step_is_chosen_by_its_address_with_and_without_a_script(console: Browser) -> None:
    await opened(console)
    run = await ran(console.site)

    whole = await console.sees(f"/runs/{run}?step=note")
    page = await console.sees(f"/runs/{run}/steps/note")
    part = await console.get(f"/runs/{run}/steps/note", part=True)

    for shown in (whole, page, part.body.decode()):
        assert 'data-for="note"' in shown
    assert '<a id="n1" class="run-node"' in whole
    assert re.search(r'id="n1"[^>]*aria-current="true"', whole)
    assert part.body.lstrip().startswith(b'<aside id="inspector"')


async def test_what_a_step_gave_is_shown_and_all_of_it_by_a_link(console: Browser) -> None:
    await opened(console)
    console.site.upstreams.replies[LOOK] = text("word " * 2000)
    run = await ran(console.site)

    inspector = (await console.get(f"/runs/{run}/steps/look", part=True)).body.decode()
    whole = await console.sees(f"/runs/{run}/output?step=look")

    assert f"/runs/{run}/output?step=look" in inspector
    assert inspector.count("word ") < 500
    assert whole.count("word ") >= 1999


async def test_others_see_how_it_went_and_none_of_the_values(console: Browser) -> None:
    await opened(console)
    console.site.upstreams.replies[LOOK] = text("a secret")
    run = await ran(console.site, intent="Nobody else's business.")
    bob = await person(console, "bob", clearance="restricted")

    page = await bob.sees(f"/runs/{run}?step=look")
    output = await bob.get(f"/runs/{run}/output?step=look")
    export = await bob.sees(f"/runs/{run}/export")

    assert "box.look" in page
    assert "for whoever started the run" in page
    for text_ in (page, export, output.body.decode()):
        assert "a secret" not in text_
        assert "business" not in text_
    assert output.status == 404
    assert "Fork from this step" not in page
    assert "Cancel" not in page


async def test_a_run_above_ones_clearance_is_not_there(console: Browser) -> None:
    await opened(console)
    run = await ran(console.site, label="restricted")
    bob = await person(console, "bob")

    for path in ("", "/parts?steps=*", "/plan", "/timeline", "/log", "/export", "/steps/look"):
        assert (await bob.get(f"/runs/{run}{path}")).status == 404
    for act in ("cancel", "resume", "fork", "rerun"):
        assert (await bob.post(f"/runs/{run}/{act}", {"step": "look"})).status == 404


async def test_what_is_no_run_is_not_there(console: Browser) -> None:
    for run in ("nothing", "run_", "run_01m7m92fh4ex3t904k96h25zea", "%00"):
        answer = await console.get(f"/runs/{run}")

        assert answer.status == 404
        assert b"no such" in answer.body


async def test_a_run_of_an_agent_shows_its_turns_and_what_ran_ahead(console: Browser) -> None:
    run = await an_agents(console)

    page = await console.sees(f"/runs/{run}")
    use = (await console.get(f"/runs/{run}/steps/call-1-0", part=True)).body.decode()

    assert 'aria-label="turn 1 model · done 0.9 s, step turn-1"' in page
    assert re.search(r'class="run-node ahead"[^>]*read files[^>]*⚡ ahead[^>]*ran ahead', page)
    assert 'fill="url(#run-stripes)"' in page
    assert '<small title="Begun before it was asked for">Ran ahead</small><b>1' in page
    assert f'href="/chat/{run}"' in page
    assert "begun while the model was still speaking" in use


async def test_the_events_are_read_page_by_page(console: Browser) -> None:
    await opened(console)
    run = await ran(console.site)

    page = await console.sees(f"/runs/{run}/log")
    part = await console.get(f"/runs/{run}/log", part=True)

    assert "workflow.planned" in page
    assert "<html" not in part.body.decode()
    assert "run.done" in part.body.decode()


async def test_all_of_it_is_exported_as_json(console: Browser) -> None:
    await opened(console)
    run = await ran(console.site)

    answer = await console.get(f"/runs/{run}/export")

    whole = json.loads(answer.body)
    assert answer.headers["content-disposition"] == f'attachment; filename="{run}.json"'
    assert whole["run"]["id"] == run
    assert [step["id"] for step in whole["workflow"]["steps"]] == ["look", "note"]
    assert whole["events"][-1]["type"] == "run.done"


async def test_a_program_shows_its_calls_and_its_code(console: Browser) -> None:
    await opened(console)
    site = console.site
    body = {"code": "x = 6\nx * 7", "mode": "durable"}
    async with site.working():
        made = await site.ask("POST", "/api/v1/programs", body, headers=(WAIT,))

    page = await console.sees(f"/runs/{made.json['run']}")

    assert "<h1>Program</h1>" in page
    assert "x * 7" in page


async def test_an_inline_run_is_shown_as_far_as_it_is_known(console: Browser) -> None:
    await opened(console)
    plan = {"steps": [{"id": "look", "tool": "box.look"}]}
    run = await ran(console.site, plan, mode="inline")

    page = await console.sees(f"/runs/{run}")

    assert "inline" in page
    assert re.search(r"look box · done [^>]*, step look", page)


async def test_hostile_names_and_results_are_text(console: Browser) -> None:
    await opened(console)
    bad = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)><hx-partial hx-target=body>"
    console.site.upstreams.replies[LOOK] = text(bad)
    plan = {**PLAN, "steps": [{**PLAN["steps"][0], "arguments": {bad: bad}}, PLAN["steps"][1]]}
    run = await ran(console.site, plan, intent=bad)

    for path in ("", "?step=look", "/output?step=look", "/log", f"?find={bad}", "?zoom=<b>"):
        page = await console.sees(f"/runs/{run}{path}")

        assert "<script>alert" not in page
        assert "<img" not in page
        assert "<hx-partial" not in page
    part = await console.get(f"/runs/{run}/parts?steps={bad}&step={bad}", part=True)
    assert b"<img" not in part.body
