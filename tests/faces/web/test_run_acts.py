"""What is done about a run from its page."""

import re

from portico.gateway.core.call import Answer
from portico.testing.gateway_doors import ANYTHING
from tests.faces.http.conftest import built
from tests.faces.http.test_workflows import NOTE, WAIT, open_box
from tests.faces.web.conftest import Browser, console_of
from tests.faces.web.run_stage import (
    ASK,
    asking,
    opened,
    ran,
)


async def test_an_approval_is_given_from_the_run_and_leads_back_to_it() -> None:
    console, run = await asking()

    page = await console.sees(f"/runs/{run}")
    [approval] = set(re.findall(r'name="approval" value="(apr_\w+)"', page))
    answer = {"approval": approval, "answer": "once", "step": "note", "once": "a1"}
    back = await console.does(f"/runs/{run}/answer", answer)
    again = await console.does(f"/runs/{run}/answer", answer)
    after = await console.sees(back)

    assert "Needs approval" in page
    assert 'data-key="a"' in page
    assert 'data-key="x"' in page
    assert back == again == f"/runs/{run}?done=once&step=note"
    assert "Approved, once." in after
    assert 'data-key="a"' not in after


async def test_only_the_exact_word_approves_from_the_run() -> None:
    console, run = await asking()
    page = await console.sees(f"/runs/{run}")
    [approval] = set(re.findall(r'name="approval" value="(apr_\w+)"', page))

    for word in ("yes", "Once", "", "approve"):
        answer = await console.post(
            f"/runs/{run}/answer", {"approval": approval, "answer": word, "step": "note"}
        )

        assert answer.status == 422
        assert "Needs approval" in answer.body.decode()


async def test_arguments_are_edited_and_a_slip_in_them_is_told_beside_what_was_typed() -> None:
    console, run = await asking()
    page = await console.sees(f"/runs/{run}")
    [approval] = set(re.findall(r'name="approval" value="(apr_\w+)"', page))
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
    console.site.upstreams.replies[NOTE] = Answer(
        [{"type": "text", "text": "no room"}], failed=True
    )
    run = await ran(console.site)

    page = await console.sees(f"/runs/{run}")
    back = await console.does(f"/runs/{run}/resume", {})

    assert 'class="badge bad"><i></i>Failed' in page
    assert 'data-for="note"' in page
    assert "no room" in page
    assert back == f"/runs/{run}?done=resumed"


async def test_a_run_is_forked_run_again_and_cancelled(console: Browser) -> None:
    await opened(console)
    run = await ran(console.site)

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
