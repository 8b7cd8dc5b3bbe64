"""What an open page of a run asks for while it goes on: the steps that changed, and no more."""

import re
from typing import Any

import pytest

from portico.faces.web.screens.run.drawing import MOST_PARTS
from tests.faces.web.conftest import Browser
from tests.faces.web.run_stage import asking, opened, ran

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


@pytest.mark.timeout(30)
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


@pytest.mark.timeout(30)
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


async def test_the_page_follows_its_run(console: Browser) -> None:
    await opened(console)
    run = await ran(console.site)

    page = await console.sees(f"/runs/{run}")

    assert f'data-live="{run}"' in page
    assert "js/run.js" in page
