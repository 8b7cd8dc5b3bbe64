"""Approvals and runs by the keyboard alone, in a real browser; and what happens behind an open page
is seen on it."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.scenarios.console_town import Town, a_plan, console_town
from tests.scenarios.keyboard import Hands
from tests.scenarios.somebody_else import Somebody

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.requirement("console:screens:keyboard"),
]
ECHO = {"id": "echo", "tool": "everything.echo", "arguments": {"message": "Ahoy"}}
"""Asked for by no rule of ours: it can be approved for longer than once."""
_LONGER_THAN_IT_TAKES = 1_000
"""Milliseconds, for what must not happen."""


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with console_town() as made:
        made.ask("PUT", "/effects", {"tools": "everything.echo", "effect": "irreversible"})
        made.ask("DELETE", "/policy/rules/let-everything")
        yield made


def approval(town: Town, which: str) -> dict[str, Any]:
    found: dict[str, Any] = town.ask("GET", f"/approvals/{which}")
    return found


def ended(town: Town, run: str) -> str:
    over = {"done", "failed", "cancelled"}
    return str(town.until(f"/runs/{run}", lambda found: found["status"] in over)["status"])


@pytest.mark.parametrize(("key", "answer"), [("a", "once"), ("x", "reject")])
def test_an_approval_is_answered_by_one_key(
    ana: Hands, town: Town, bo: Somebody, key: str, answer: str
) -> None:
    run, asked = bo.asks(a_plan("keys"))
    ana.opens(f"/inbox/{asked}")
    ana.settle()

    ana.press(key)

    ana.see(".inbox-said", "Approved, once." if key == "a" else "Rejected.")
    assert approval(town, asked)["answered"]["answer"] == answer
    assert ended(town, run) == ("done" if key == "a" else "failed")


def test_arguments_are_changed_and_approved(ana: Hands, town: Town, bo: Somebody) -> None:
    run, asked = bo.asks(a_plan("edits"))
    ana.opens(f"/inbox/{asked}")

    ana.press("e")
    ana.tab_to("#inbox-json")
    ana.retype('{"book_id": "book-other"}')
    ana.choose("details[data-key=e] button")

    ana.see(".inbox-said", "Approved with your arguments.")
    other = approval(town, approval(town, asked)["replaced_by"])
    assert other["arguments"] == {"book_id": "book-other"}
    assert ended(town, run) == "done"


def test_why_it_is_asked_is_told(ana: Hands, bo: Somebody) -> None:
    _, asked = bo.asks(a_plan("reasons"))
    ana.opens(f"/inbox/{asked}")

    ana.press("w")

    ana.see("#inbox-why", "What would change it")
    ana.see("#inbox-why code", "ask-to-lend")


@pytest.mark.parametrize("answer", ["run", "always"])
def test_more_than_once_is_approved(ana: Hands, town: Town, bo: Somebody, answer: str) -> None:
    run, asked = bo.asks([ECHO])
    ana.opens(f"/inbox/{asked}")

    ana.choose(".inbox-ways details:not([data-key]) > summary")
    ana.choose(f"button[value={answer}]")

    ana.see(".inbox-said", "Approved")
    given = approval(town, asked)["answered"]
    rules = [each["name"] for each in town.ask("GET", "/policy/rules")["data"]]
    assert given["answer"] == answer
    assert given["rule"] in rules
    assert ended(town, run) == "done"


def test_what_is_marked_in_the_list_is_shown_beside_it(ana: Hands, bo: Somebody) -> None:
    for topic in ("first", "second"):
        bo.asks(a_plan(topic))
    ana.opens("/inbox")
    rows = ana.page.locator("#inbox-list [data-row]")
    first, second = (rows.nth(place).get_attribute("data-id") for place in (0, 1))
    ana.see(f'#inbox-detail[data-id="{first}"]')

    ana.press("j")
    ana.see(f'#inbox-detail[data-id="{second}"]')
    ana.press("k")
    ana.see(f'#inbox-detail[data-id="{first}"]')


def test_whoever_goes_by_tab_past_the_list_keeps_what_is_shown(ana: Hands, bo: Somebody) -> None:
    """So what somebody is about to answer is not exchanged below their hands."""
    for topic in ("one", "other"):
        bo.asks(a_plan(topic))
    ana.opens("/inbox")
    rows = ana.page.locator("#inbox-list [data-row]")
    shown = rows.first.get_attribute("data-id")
    ana.see(f'#inbox-detail[data-id="{shown}"]')

    ana.tab_to(rows.last)
    ana.page.wait_for_timeout(_LONGER_THAN_IT_TAKES)

    assert ana.page.locator("#inbox-detail").get_attribute("data-id") == shown
    ana.press("Enter")
    ana.see(f'#inbox-detail[data-id="{rows.last.get_attribute("data-id")}"]')


@pytest.mark.parametrize("way", ["marked", "chosen"])
def test_a_run_is_cancelled_from_the_list(ana: Hands, town: Town, bo: Somebody, way: str) -> None:
    run, _ = bo.asks(a_plan("runs"))
    ana.opens("/runs")

    ana.mark(f"#r-{run}", "j")
    if way == "marked":
        ana.press("c")
    else:
        ana.press("s")
        ana.choose(".runs-foot button")

    ana.see(".note.ok", "Cancelled.")
    assert ended(town, run) == "cancelled"


def test_a_run_is_opened_from_the_list(ana: Hands, town: Town) -> None:
    run = town.plan(a_plan("opening")[:1], wait=30)
    ana.opens("/runs")

    ana.mark(f"#r-{run}", "j")
    ana.press("Enter")

    ana.arrive(f"/runs/{run}")
    ana.see("#run-state", "done")


def test_a_run_comes_and_ends_in_the_list(ana: Hands, town: Town, bo: Somebody) -> None:
    ana.watch("/runs")

    run, asked = bo.asks(a_plan("lists"))
    ana.see(f"#r-{run} .badge", "Waiting")
    town.ask("POST", f"/approvals/{asked}/answer", {"answer": "once"})

    ana.see(f"#r-{run} .badge", "done")
    assert ana.undisturbed()


@pytest.mark.parametrize(("key", "told"), [("a", "done"), ("x", "failed")])
def test_a_step_is_answered_on_the_page_of_its_run(
    ana: Hands, town: Town, bo: Somebody, key: str, told: str
) -> None:
    run, asked = bo.asks(a_plan("steps"))
    ana.opens(f"/runs/{run}")

    ana.press(key)

    ana.see(".note.ok")
    assert approval(town, asked)["answered"]["via"] == "web"
    assert ended(town, run) == told


def test_a_run_is_cancelled(ana: Hands, town: Town, bo: Somebody) -> None:
    run, _ = bo.asks(a_plan("ends"))
    ana.opens(f"/runs/{run}")

    ana.choose("#run-acts form[action$=cancel] button")

    ana.see(".note.ok", "ancelled")
    assert ended(town, run) == "cancelled"


def test_steps_are_gone_through_and_one_is_forked_from(ana: Hands, town: Town) -> None:
    run = town.plan(a_plan("forks")[:4], wait=30)
    ana.opens(f"/runs/{run}")

    ana.press("j", "j", "Enter")
    ana.see('#inspector[data-for="card"]', "library.read_card")
    assert ana.page.evaluate("document.activeElement.dataset.step") == "card"
    ana.choose("#inspector form[action$=fork] button")

    ana.arrive("/runs/*?done=forked")
    fork = ana.page.url.rpartition("/")[2].partition("?")[0]
    assert town.ask("GET", f"/runs/{fork}")["forked_from"] == run
    assert ended(town, fork) == "done"


def test_a_step_that_was_approved_elsewhere_is_done_on_the_page(
    ana: Hands, town: Town, bo: Somebody
) -> None:
    run, asked = bo.asks(a_plan("waits"))
    ana.watch(f"/runs/{run}")
    ana.see(".run-node[data-s=waiting]", "lend_book")

    town.ask("POST", f"/approvals/{asked}/answer", {"answer": "once"})

    ana.see(".run-node[data-s=done]", "lend_book")
    ana.see("#run-state", "done")
    ana.page.locator("#inspector button[value=once]").wait_for(state="detached")
    assert ana.undisturbed()
