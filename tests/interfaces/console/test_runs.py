"""The list of runs: filtered, by cursor, live, and ended from."""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.agents.core.traces import AgentRunStatus
from portico.engine.core.runs import Failure, Run, RunStatus
from portico.interfaces.console.screens.runs import (
    RunLookups,
    Show,
    address,
    line,
    progress,
    show_of,
)
from portico.kernel.ids import PrincipalId
from portico.testing.agent_data import an_agent_run
from tests.interfaces.console import run_words
from tests.interfaces.console.conftest import Browser
from tests.interfaces.console.run_stage import an_agents, opened, ran
from tests.interfaces.console.run_words import ENTROPY, START, a_principal
from tests.interfaces.http.conftest import Site

NOBODY = RunLookups(names={}, traces={}, questions={}, tools={})
ME = a_principal("runs:read", "runs:write", "tools:call")
OUTLINE = [["a", "box.a", [], None, False], ["b", "box.b", ["a"], None, False]]


def a_run(status: RunStatus, kind: str = "workflow", **changes: Any) -> Run:
    told = {"name": "tidy-up", "outline": OUTLINE} if kind == "workflow" else {}
    return run_words.a_run(kind, status, **{"input": told, **changes})


async def drills(site: Site, many: int, **more: object) -> list[str]:
    made = [
        await site.ask("POST", "/api/v1/runs", {"kind": "drill", "input": {"steps": 2}, **more})
        for _ in range(many)
    ]
    return [answer.json["id"] for answer in made]


async def test_runs_are_listed_newest_first_with_who_and_how_far(console: Browser) -> None:
    await opened(console)
    first, second = await ran(console.site), (await drills(console.site, 1))[0]

    page = await console.sees("/runs")

    assert page.index(f'id="r-{second}"') < page.index(f'id="r-{first}"')
    assert "<b>Tidy up</b>" in page
    assert "2 / 2" in page
    assert ">ana<" in page
    assert 'data-live="runs"' in page


async def test_one_state_and_one_kind_are_shown_alone(console: Browser) -> None:
    await opened(console)
    plan, drill = await ran(console.site), (await drills(console.site, 1))[0]

    done = await console.sees("/runs?show=done")
    running = await console.sees("/runs?show=running")
    kind = await console.sees("/runs?kind=workflow")
    neither = await console.sees("/runs?show=failed&kind=debate")
    odd = await console.sees("/runs?show=<b>&kind=';--")
    part = await console.get("/runs/list?show=running", part=True)

    assert (plan in done, drill in done) == (True, False)
    assert (plan in running, drill in running) == (False, True)
    assert (plan in kind, drill in kind) == (True, False)
    assert "None of these." in neither
    assert plan in odd
    assert part.body.lstrip().startswith(b'<section class="card" id="runs-list"')
    assert b'data-from="/runs/list?show=running"' in part.body


async def test_older_ones_are_on_the_next_page(console: Browser) -> None:
    made = await drills(console.site, 43)

    first = await console.sees("/runs")
    [older] = re.findall(r'<a class="btn sm" href="(/runs\?after=[^"]+)" rel="next"', first)
    second = await console.sees(older)
    odd = await console.get("/runs?after=!!")

    assert all(f'id="r-{run}"' in first for run in made[3:])
    assert all(f'id="r-{run}"' in second for run in made[:3])
    assert made[4] not in second
    assert odd.status == 422


async def test_one_is_cancelled_by_its_button_and_several_by_their_boxes(console: Browser) -> None:
    one, two, three = await drills(console.site, 3)

    single = await console.does("/runs/cancel", {"one": one, "run": [two]})
    both = await console.does("/runs/cancel", {"run": [two, three], "show": "waiting"})
    some = await console.post("/runs/cancel", {"run": [one]})
    none = await console.post("/runs/cancel", {})
    page = await console.sees("/runs?show=cancelled&done=cancelled")

    assert single == "/runs?done=cancelled"
    assert both == "/runs?show=waiting&done=cancelled"
    assert some.status == 409
    assert none.status == 422
    assert all(run in page for run in (one, two, three))
    assert "What was done stays done." in page


async def test_each_kind_is_ended_by_its_own_room(console: Browser) -> None:
    await opened(console)
    plan = {"steps": [{"id": "look", "tool": "box.look"}]}
    run = (await console.site.ask("POST", "/api/v1/workflows", {"plan": plan})).json["run"]

    await console.does("/runs/cancel", {"run": [run]})

    shown = await console.site.ask("GET", f"/api/v1/workflows/{run}")
    assert shown.json["status"] == "cancelled"


async def test_an_agents_run_says_what_it_was_asked_and_what_it_cost(console: Browser) -> None:
    run = await an_agents(console)

    page = await console.sees("/runs?kind=agent")

    assert run in page
    assert "<b>clerk</b>" in page
    assert "Write to Ana." in page
    assert "tok</div>" in page


async def test_a_page_of_runs_takes_as_many_questions_as_one_run(console: Browser) -> None:
    """No question is asked for each of them."""
    book = console.site.doors.book
    asked: list[str] = []
    for name in ("page", "progress", "get", "steps"):
        _counted(book, name, asked)
    await drills(console.site, 1)
    asked.clear()
    await console.sees("/runs")
    alone = len(asked)
    await drills(console.site, 40)
    asked.clear()

    await console.sees("/runs")

    assert len(asked) == alone == 2


def _counted(of: object, name: str, asked: list[str]) -> None:
    inner = getattr(of, name)

    async def counted(*given: object, **more: object) -> object:
        asked.append(name)
        return await inner(*given, **more)

    setattr(of, name, counted)


@pytest.mark.parametrize(
    ("run", "over", "told"),
    [
        (a_run(RunStatus.DONE), 4, (2, 2, False)),
        (a_run(RunStatus.RUNNING), 2, (1, 2, True)),
        (a_run(RunStatus.WAITING, waits_for=("~approval:b:1",)), 5, (1, 2, True)),
        (a_run(RunStatus.QUEUED), 0, (0, 2, True)),
        (a_run(RunStatus.RUNNING, "agent"), 7, (7, None, False)),
        (a_run(RunStatus.RUNNING, "drill", input={"steps": 9}), 4, (3, 9, True)),
    ],
)
def test_how_far_a_run_is(run: Run, over: int, told: tuple[int, int | None, bool]) -> None:
    assert progress(run, over) == told


def test_a_line_says_what_went_wrong_without_where_its_words_are() -> None:
    words = "The step 'a' failed: The tool said no [in full: res_01m7m93ng8fzhsx304z6g7a22e]"
    run = a_run(RunStatus.FAILED, failure=Failure("StepFailed", words, "step_failed", "a"))

    shown = line(run, 1, NOBODY, ME, START + timedelta(seconds=3))

    assert shown.note == "The step 'a' failed: The tool said no"
    assert (shown.status, shown.tone) == ("Failed", "bad")
    assert shown.took == timedelta(seconds=3)
    assert not shown.may_cancel


def test_of_others_the_name_is_told_where_it_is_known() -> None:
    other = PrincipalId.mint(START, ENTROPY)
    run = a_run(RunStatus.RUNNING, principal=other)
    known = replace(NOBODY, names={str(other): "bob"})

    assert line(run, 1, known, ME, START).who == "bob"
    assert line(run, 1, NOBODY, ME, START).who == f"…{str(other)[-6:]}"
    assert not line(run, 1, known, ME, START).may_cancel


def test_what_an_agents_run_used_is_told() -> None:
    trace = replace(an_agent_run(ME), status=AgentRunStatus.COMPLETED, asked="Write to Ana.")
    run = a_run(RunStatus.DONE, "agent", id=trace.run)

    shown = line(run, 3, replace(NOBODY, traces={trace.run: trace}), ME, START)

    assert shown.note == "“Write to Ana.”"
    assert shown.money == trace.money


def test_addresses_say_only_what_is_not_as_usual() -> None:
    assert address("/runs", Show.ALL, None) == "/runs"
    assert address("/runs", Show.DONE, "agent", "a=") == "/runs?show=done&kind=agent&after=a%3D"
    assert show_of("nothing") is Show.ALL
