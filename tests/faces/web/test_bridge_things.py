"""A project in the console: memory, work, leases, presence, budget, taking it out."""

import pytest

from tests.faces.web.bridge_scene import Scene, staged, words
from tests.faces.web.conftest import Browser


@pytest.fixture
async def scene(console: Browser) -> Scene:
    return await staged(console)


async def test_what_is_remembered_is_listed_searched_and_forgotten(scene: Scene) -> None:
    memory = f"{scene.project}/memory"
    for value in ("In the reeds.", "By the river."):
        await scene.console.does(memory, {"key": "notes/nest", "value": value, "label": "team"})

    listed = words(await scene.console.sees(memory))
    found = words(await scene.console.sees(f"{memory}?q=river"))
    history = words(await scene.console.sees(f"{memory}/history?key=notes%2Fnest"))
    await scene.console.does(f"{memory}/forget", {"key": "notes/nest", "label": "team"})

    assert "notes/nest By the river." in listed
    assert "notes/nest" in found
    assert "Version 2" in history
    assert "In the reeds." in history
    assert "Nothing is remembered yet." in await scene.console.sees(memory)


async def test_a_changed_memory_is_not_written_over(scene: Scene) -> None:
    memory = f"{scene.project}/memory"
    await scene.console.does(memory, {"key": "k", "value": "one", "label": "team"})
    form = {"key": "k", "value": "two", "label": "team", "version": "7"}

    answer = await scene.console.post(memory, form)

    assert answer.status == 409
    assert "Changed meanwhile" in words(answer.body.decode())
    assert ">two</textarea>" in answer.body.decode()


async def test_work_is_added_claimed_handed_over_and_ended(scene: Scene) -> None:
    at = f"{scene.project}/work"
    await scene.console.does(at, {"title": "Count eggs", "label": "team", "once": "w"})
    page = await scene.console.sees(at)
    work = page.split(f'action="{at}/')[1].split('"')[0]

    await scene.console.does(f"{at}/{work}", {"do": "claim"})
    mine = await scene.console.sees(at)
    token = mine.split('name="token" value="')[1].split('"')[0]
    end = {"do": "end", "token": token, "state": "done", "outcome": "Three."}
    await scene.console.does(f"{at}/{work}", end)

    assert "Hand over to" in mine
    over = words(await scene.console.sees(f"{at}?state=done"))
    assert "Count eggs done" in over
    assert "Three." in over


async def test_a_claim_that_comes_too_late_is_refused_on_the_page(scene: Scene) -> None:
    at = f"{scene.project}/work"
    added = await scene.table.robin.got(
        "POST", f"/projects/{scene.table.project}/work", {"title": "Count eggs"}
    )
    await scene.table.robin.got("POST", f"/work/{added['id']}/claim")

    answer = await scene.console.post(f"{at}/{added['id']}", {"do": "claim"})

    assert answer.status == 409
    assert "robin has it" in words(answer.body.decode())


async def test_leases_are_seen_taken_and_released(scene: Scene) -> None:
    await scene.table.robin.got(
        "POST", f"/projects/{scene.table.project}/leases", {"resource": "nest/**"}
    )
    form = {"resource": "river/**", "minutes": "10", "once": "l"}

    refused = await scene.console.post(
        f"{scene.project}/leases", {**form, "resource": "nest/eggs", "once": "m"}
    )
    await scene.console.does(f"{scene.project}/leases", form)
    page = await scene.console.sees(scene.project)
    lease = page.split("/release")[0].rsplit("/", 1)[1]
    token = page.split("/release")[1].split('name="token" value="')[1].split('"')[0]
    await scene.console.does(f"{scene.project}/leases/{lease}/release", {"token": token})

    assert refused.status == 409
    assert "robin holds" in words(refused.body.decode())
    assert "nest/** robin" in words(page)
    assert "river/**" not in await scene.console.sees(scene.project)


async def test_who_is_there_is_shown(scene: Scene) -> None:
    doing = {"doing": "busy", "note": "counting eggs"}
    await scene.table.robin.got("PUT", f"/projects/{scene.table.project}/presence", doing)

    part = await scene.console.get(f"{scene.project}/around", part=True)

    assert "robin busy counting eggs" in words(part.body.decode())


async def test_the_budget_of_debates_is_shown_and_set(scene: Scene) -> None:
    form = {"tokens": "5000", "money": "2.50"}

    to = await scene.console.does(f"{scene.project}/budget", form)
    refused = await scene.console.post(f"{scene.project}/budget", {"money": "much"})

    assert "of 5 k" in words(await scene.console.sees(to))
    assert refused.status == 422
    assert "must be an amount" in words(refused.body.decode())


async def test_a_project_is_taken_out_line_by_line(scene: Scene) -> None:
    await scene.says("Three eggs.")

    answer = await scene.console.get(f"{scene.project}/export")

    assert answer.status == 200
    assert answer.headers["content-disposition"].startswith("attachment")
    assert b"Three eggs." in answer.body
    assert answer.body.count(b"\n") >= 3


async def test_looking_at_names_does_not_bind_what_is_done_in_the_project(scene: Scene) -> None:
    """A list of conversations beside the project is no reading in the project."""
    await scene.also("Poachers", "restricted")
    await scene.console.sees(scene.project)

    to = await scene.console.does(
        f"{scene.project}/leases", {"resource": "nest/**", "minutes": "10"}
    )

    assert "nest/** ana" in words(await scene.console.sees(to))


async def test_whoever_has_read_more_is_told_why_they_cannot_claim(scene: Scene) -> None:
    await scene.table.robin.got(
        "POST", f"/projects/{scene.table.project}/work", {"title": "Count eggs"}
    )
    secret = {"key": "k", "value": "v", "label": "confidential"}
    await scene.console.does(f"{scene.project}/memory", secret)
    await scene.console.sees(f"{scene.project}/memory")

    text = words(await scene.console.sees(f"{scene.project}/work"))

    assert "you cannot claim it" in text
    assert "Claim " not in text.split("Count eggs")[1].split("Add work")[0].replace("Claimed", "")


async def test_a_project_is_put_away_and_taken_out_again(scene: Scene) -> None:
    await scene.console.does(f"{scene.project}/archive", {"archived": "yes"})
    away = await scene.console.sees(scene.project)
    await scene.console.does(f"{scene.project}/archive", {"archived": "no"})

    assert "archived" in words(away)
    assert "Take a lease" not in away
    assert "Take a lease" in await scene.console.sees(scene.project)
