"""The page of a run: its plan, its times, each step, what is done about it, and how it goes on."""

import json
import re
from typing import Any

import pytest

from portico.gateway.core.calls import ToolResult
from portico.interfaces.console.screens.run.page import MOST_PARTS
from portico.testing.gateway import text
from portico.testing.gateway_fakes import ANYTHING
from tests.interfaces.console.conftest import Browser, console_of, somebody
from tests.interfaces.console.run_stage import (
    ASK,
    an_agents,
    asking,
    opened,
    ran,
)
from tests.interfaces.http.conftest import built
from tests.interfaces.http.test_workflows import LOOK, NOTE, WAIT, open_box


@pytest.fixture
async def run(console: Browser) -> str:
    """Of a plan, to its end."""
    await opened(console)
    return await ran(console.site, intent="Tidy up what lies around.")


async def test_a_run_is_drawn_with_its_plan_its_times_and_a_step(
    console: Browser, run: str
) -> None:
    page = await console.sees(f"/runs/{run}")

    assert "<h1>Tidy up</h1>" in page
    assert "Tidy up what lies around." in page
    assert re.search(
        r'<a id="n0" class="run-node"[^>]*data-s="done"[^>]*"look box · done [^>]*, step look"',
        page,
    )
    assert 'id="b1"' in page
    assert "← look.text" in page
    assert f'data-live="{run}"' in page


async def test_a_step_is_chosen_by_its_address_with_and_without_a_script(
    console: Browser, run: str
) -> None:
    whole = await console.sees(f"/runs/{run}?step=note")
    page = await console.sees(f"/runs/{run}/steps/note")
    part = await console.get(f"/runs/{run}/steps/note", part=True)

    for shown in (whole, page, part.body.decode()):
        assert 'data-for="note"' in shown
    assert re.search(r'<a id="n1" class="run-node"[^>]*aria-current="true"', whole)
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
    bob = await somebody(console, "bob", clearance="restricted")

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


async def test_its_events_are_read_and_all_of_it_is_exported_as_json(
    console: Browser, run: str
) -> None:
    log = await console.sees(f"/runs/{run}/log")
    answer = await console.get(f"/runs/{run}/export")

    assert "workflow.planned" in log
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


async def waiting() -> tuple[Browser, str, str]:
    """A run that waits, its page, and what for."""
    console, run = await asking()
    page = await console.sees(f"/runs/{run}")
    [approval] = set(re.findall(r'name="approval" value="(apr_\w+)"', page))
    assert "Needs approval" in page
    return console, run, approval


async def test_an_approval_is_given_from_the_run_and_leads_back_to_it() -> None:
    console, run, approval = await waiting()
    page = await console.sees(f"/runs/{run}")
    answer = {"approval": approval, "answer": "once", "step": "note", "once": "a1"}

    back = await console.does(f"/runs/{run}/answer", answer)
    again = await console.does(f"/runs/{run}/answer", answer)
    after = await console.sees(back)

    assert ('data-key="a"' in page, 'data-key="x"' in page) == (True, True)
    assert back == again == f"/runs/{run}?done=once&step=note"
    assert "Approved, once." in after
    assert 'data-key="a"' not in after


async def test_only_the_exact_word_approves_from_the_run() -> None:
    console, run, approval = await waiting()

    for word in ("yes", "Once", "", "approve"):
        fields = {"approval": approval, "answer": word, "step": "note"}
        answer = await console.post(f"/runs/{run}/answer", fields)

        assert answer.status == 422
        assert "Needs approval" in answer.body.decode()


async def test_arguments_are_edited_and_a_slip_in_them_is_told_beside_what_was_typed() -> None:
    console, run, approval = await waiting()
    fields = {"approval": approval, "step": "note"}

    slip = await console.post(f"/runs/{run}/edit", {**fields, "arguments": '{"text": oops'})
    back = await console.does(f"/runs/{run}/edit", {**fields, "arguments": '{"text": "mine"}'})

    assert slip.status == 422
    assert "{&#34;text&#34;: oops</textarea>" in slip.body.decode()
    assert "must be JSON" in slip.body.decode()
    assert back == f"/runs/{run}?done=edited&step=note"


async def test_whoever_asked_is_told_that_another_has_to_answer() -> None:
    site = await built([ANYTHING, ASK])
    console = console_of(site)
    await console.log_in()
    await open_box(site)
    run = await ran(site)

    page = await console.sees(f"/runs/{run}?step=note")

    assert "Approval needed." in page
    assert 'data-key="a"' not in page


async def test_a_run_that_failed_says_why_and_is_taken_up_again(console: Browser) -> None:
    await opened(console)
    console.site.upstreams.replies[NOTE] = ToolResult(
        [{"type": "text", "text": "no room"}], failed=True
    )
    run = await ran(console.site)

    page = await console.sees(f"/runs/{run}")
    back = await console.does(f"/runs/{run}/resume", {})

    assert 'class="badge bad"><i></i>Failed' in page
    assert 'data-for="note"' in page
    assert "no room" in page
    assert back == f"/runs/{run}?done=resumed"


async def test_a_run_is_forked_run_again_and_cancelled(console: Browser, run: str) -> None:
    forked = await console.does(f"/runs/{run}/fork", {"step": "note", "once": "f1"})
    twice = await console.does(f"/runs/{run}/fork", {"step": "note", "once": "f1"})
    again = await console.does(f"/runs/{run}/rerun", {"once": "r1"})
    page = await console.sees(forked)
    cancelled = await console.does(again.replace("?done=again", "/cancel"), {})
    over = await console.post(again.replace("?done=again", "/cancel"), {})

    assert forked == twice
    assert run not in {forked, again}
    assert f'href="/runs/{run}"' in page
    assert "What does not depend on that step was kept." in page
    assert cancelled.endswith("?done=cancelled")
    assert over.status == 409
    assert "Cancelled" in over.body.decode()


async def test_a_drill_is_a_chain_that_is_resumed_and_run_again(console: Browser) -> None:
    site = console.site
    async with site.working():
        made = await site.ask(
            "POST",
            "/api/v1/runs",
            {"kind": "drill", "input": {"steps": 3, "fail_at": 2}},
            headers=(WAIT,),
        )
    run = made.json["id"]

    page = await console.sees(f"/runs/{run}")
    resumed = await console.does(f"/runs/{run}/resume", {})
    again = await console.does(f"/runs/{run}/rerun", {"once": "r2"})

    assert re.search(r'data-step="step-2" data-s="failed"', page)
    assert "1 / 3" in page
    assert "It was told to fail here." in page
    assert resumed == f"/runs/{run}?done=resumed"
    assert again.endswith("?done=again")


LARGEST = 50_000


def fan(many: int) -> dict[str, Any]:
    inner = [
        {"id": f"read{number}", "tool": "box.look", "after": ["list"]} for number in range(many)
    ]
    last = {"id": "all", "tool": "box.look", "after": [each["id"] for each in inner]}
    return {"steps": [{"id": "list", "tool": "box.look"}, *inner, last]}


def wide(many: int) -> dict[str, Any]:
    """No two of which are alike."""
    steps = [
        {"id": f"s{at}", "tool": "box.look", "after": [f"s{max(at - 1 - at % 3, 0)}"] if at else []}
        for at in range(many)
    ]
    return {"steps": steps}


async def queued(console: Browser, plan: dict[str, Any]) -> str:
    """Started, and carried out by nobody yet."""
    answer = await console.site.ask("POST", "/api/v1/workflows", {"plan": plan})
    assert answer.status == 202, answer.json
    return str(answer.json["run"])


async def parts(console: Browser, run: str, **asked: str) -> str:
    page = await console.sees(f"/runs/{run}")
    known = {
        "shape": _data(page, "shape"),
        "scale": _data(page, "scale"),
        "mark": _data(page, "mark"),
        **asked,
    }
    query = "&".join(f"{name}={value}".replace(" ", "+") for name, value in known.items())
    answer = await console.get(f"/runs/{run}/parts?{query}", part=True)
    assert answer.status == 200
    assert len(answer.body) < LARGEST
    return answer.body.decode()


def _data(page: str, name: str) -> str:
    found = re.search(rf'data-{name}="([^"]*)"', page)
    assert found is not None
    return found[1]


def targets(part: str) -> list[str]:
    return re.findall(r'<hx-partial hx-target="#([^"]+)"', part)


ALWAYS = ["run-state", "run-error", "run-acts", "run-kpis"]


async def test_only_the_step_and_what_follows_on_it_is_sent(console: Browser) -> None:
    await opened(console)
    run = await queued(console, fan(3))

    part = await parts(console, run, steps="read1")

    assert targets(part) == [*ALWAYS, "n2", "n4", "run-grid", "b2", "b4", "run-more"]
    assert '<svg><a id="n2"' in part
    assert 'data-anew=""' in part


async def test_names_of_the_journal_are_those_of_their_steps(console: Browser) -> None:
    await opened(console)
    run = await queued(console, fan(2))

    for name in ("read1~2", "read1[3]", "read1:skipped", "signal:~approval:read1:1", "read1/look"):
        assert "n2" in targets(await parts(console, run, steps=name))
    assert "n2" not in targets(await parts(console, run, steps="nothing,-,~output"))


async def test_of_a_thousand_steps_a_part_stays_small_and_says_that_there_is_more(
    console: Browser,
) -> None:
    await opened(console)
    run = await queued(console, wide(60))

    part = await parts(console, run, steps="*")

    sent = [name for name in targets(part) if re.fullmatch(r"n\d+", name)]
    more = _data(part, "more").split(",")
    assert len(sent) == MOST_PARTS
    assert len(sent) + len(more) == 60


async def test_pages_and_parts_of_a_thousand_steps_are_small(console: Browser) -> None:
    await opened(console)
    for plan in (fan(998), wide(1000)):
        run = await queued(console, plan)

        whole = await console.sees(f"/runs/{run}")
        for path in ("/plan", "/timeline", "/parts?steps=*", "/steps/all", "/steps/s999"):
            answer = await console.get(f"/runs/{run}{path}", part=True)
            assert len(answer.body) < LARGEST, path
        assert len(whole) < 200_000
        assert whole.count('class="run-node') <= 60


async def test_one_looks_into_a_group_and_finds_a_step_in_it(console: Browser) -> None:
    await opened(console)
    run = await queued(console, fan(998))

    whole = await console.sees(f"/runs/{run}")
    inside = await console.sees(f"/runs/{run}?zoom=1")
    deeper = await console.sees(f"/runs/{run}?zoom=1.0")
    found = await console.sees(f"/runs/{run}?find=read997")
    nothing = await console.sees(f"/runs/{run}?find=elephant")

    assert "look \u00d7 998" in whole
    assert f'href="/runs/{run}?zoom=1"' in whole
    assert f'href="/runs/{run}?zoom=1.0"' in inside
    assert 'data-step="read7"' in deeper
    assert "One level up" in deeper
    assert 'data-step="read997"' in found
    assert "Nothing here is called “elephant”." in nothing


async def test_a_page_that_was_drawn_otherwise_is_told_to_draw_anew(console: Browser) -> None:
    await opened(console)
    run = await queued(console, fan(2))

    shape = await parts(console, run, steps="list", shape="9.9")
    scale = await parts(console, run, steps="list", scale="other")
    mark = await parts(console, run, steps="list", mark="other")

    assert _data(shape, "anew") == "plan timeline"
    assert "n0" not in targets(shape)
    assert _data(scale, "anew") == "timeline"
    assert "b0" not in targets(scale)
    assert _data(mark, "anew") == "inspector"
    assert _data(mark, "picked") == "list"


async def test_what_begins_to_wait_for_people_is_shown_unless_another_was_chosen() -> None:
    console, run = await asking()

    followed = await parts(console, run, steps="note", mark="look+done")
    chosen = await parts(console, run, steps="note", step="look")

    assert _data(followed, "picked") == "note"
    assert "Needs approval" in followed
    assert _data(chosen, "picked") == "look"


async def test_a_page_hears_of_its_run_and_its_steps(console: Browser) -> None:
    await opened(console)
    run = await queued(console, fan(1))

    async with console.live(run) as stream:
        await stream.until(lambda: stream.status == 200)
        async with console.site.working():
            await stream.until(
                lambda: any(
                    each.data and each.data["type"] == "run.done" for each in stream.messages
                )
            )

    told = [each.data for each in stream.messages if each.data]
    steps = {each["facts"].get("step") for each in told if each["type"] == "step.done"}
    assert {"list", "read0", "all"} <= steps
