"""What is above somebody is not there: no list, count, name, audience, search or stream of the
console tells of it."""

import pytest

from portico.guard.core.roles import Role
from tests.faces.web.bridge_scene import Scene, staged, words
from tests.faces.web.conftest import Browser
from tests.faces.web.somebody import somebody

SECRET = "kingfisher"


@pytest.fixture
async def scene(console: Browser) -> Scene:
    """With secrets of every kind in it."""
    scene = await staged(console)
    ana, project = scene.table.ana, scene.table.project
    await scene.says("Three eggs.")
    await scene.says(f"The {SECRET} nests here.", label="confidential")
    hidden = await scene.also(f"{SECRET} watch", "confidential")
    await ana.says(hidden.rsplit("/", 1)[1], f"{SECRET} seen")
    await ana.got("POST", "/projects", {"name": f"{SECRET} files", "label": "confidential"})
    await ana.got(
        "PUT",
        f"/projects/{project}/memory/value",
        {"value": SECRET, "label": "confidential"},
        query=f"key={SECRET}",
    )
    await ana.got(
        "POST",
        f"/projects/{project}/work",
        {"title": f"Guard the {SECRET}", "label": "confidential"},
    )
    return scene


async def low(scene: Scene, role: Role = Role.MEMBER) -> Browser:
    return await somebody(scene.console, "mia", role=role, clearance="team")


async def test_no_page_tells_of_what_is_above(scene: Scene) -> None:
    mia = await low(scene)
    pages = [
        "/bridge",
        "/bridge/inbox",
        f"/bridge/search?q={SECRET}",
        f"/bridge/search?q={SECRET}&by=meaning",
        scene.project,
        f"{scene.project}/list",
        f"{scene.project}/memory",
        f"{scene.project}/memory?q={SECRET}",
        f"{scene.project}/work",
        f"{scene.project}/export",
        f"{scene.project}/new",
        scene.at,
        f"{scene.at}/newer",
        f"{scene.at}/older",
        "/debates/new",
    ]

    for page in pages:
        text = await mia.sees(page)

        assert SECRET not in text.replace(f'value="{SECRET}"', "").replace(
            f"“{SECRET}”", ""
        ).replace(f"q={SECRET}", ""), page


async def test_what_is_above_is_not_found_in_the_same_words_as_what_is_not(scene: Scene) -> None:
    mia = await low(scene)
    listed = await scene.console.sees(scene.project)
    hidden = next(
        each.split('"')[0]
        for each in listed.split('href="')[1:]
        if SECRET in each.split("</a>")[0] and each.startswith(f"{scene.project}/cnv_")
    )
    made_up = f"{scene.project}/cnv_{'0' * 26}"

    there, absent = await mia.get(hidden), await mia.get(made_up)

    assert there.status == absent.status == 404
    one = words(there.body.decode()).replace(hidden.rsplit("/", 1)[1], "X")
    other = words(absent.body.decode()).replace(made_up.rsplit("/", 1)[1], "X")
    assert one == other


async def test_unread_counts_only_what_one_may_read(scene: Scene) -> None:
    mia = await low(scene)
    await mia.does(f"{scene.at}/join", {})
    await scene.says("Four by now.")
    await scene.says(f"And a {SECRET}.", label="confidential")

    assert "1 unread message in 1 conversation" in words(await mia.sees("/bridge"))


async def test_an_audience_tells_nothing_of_an_agent_above_whoever_writes(scene: Scene) -> None:
    """Scout is cleared for more than Mia: it is there, and it is not counted."""
    mia = await low(scene)
    await mia.does(f"{scene.at}/join", {})

    page = words(await mia.sees(scene.at))
    asked = await mia.get(f"{scene.at}/audience?label=team", part=True)
    higher = await mia.get(f"{scene.at}/audience?label=confidential", part=True)

    assert "ana, robin will see this." in page
    for told in (words(asked.body.decode()), words(higher.body.decode())):
        assert "scout" not in told
    assert "1 participant is not cleared." in words(higher.body.decode())


async def test_nobody_can_write_above_their_clearance(scene: Scene) -> None:
    mia = await low(scene)

    page = await mia.sees(scene.at)
    answer = await mia.post(scene.at, {"body": "Hm.", "label": "confidential"})

    assert '<option value="confidential"' not in page
    assert answer.status == 403
    assert "above your clearance" in words(answer.body.decode())


async def test_a_stream_does_not_tell_of_what_is_above(scene: Scene) -> None:
    mia = await low(scene)

    async with mia.live(scene.table.conversation) as stream:
        await stream.until(lambda: any(each.data for each in stream.messages))
        before = len([each for each in stream.messages if each.data])
        await scene.says(f"Another {SECRET}.", label="confidential")
        await scene.says("For everybody.")
        await stream.until(lambda: len([each for each in stream.messages if each.data]) > before)

    told = [each.data for each in stream.messages if each.data]
    assert {each["topic"] for each in told} == {scene.table.conversation}
    assert SECRET not in str(told)


async def test_who_may_only_read_is_shown_no_form_and_refused_one(scene: Scene) -> None:
    viewer = await low(scene, Role.VIEWER)

    page = await viewer.sees(scene.at)
    answer = await viewer.post(scene.at, {"body": "Hm.", "label": "team"})
    new = await viewer.get("/bridge/new")

    assert "You may read here, and not write." in page
    assert "<textarea" not in page
    assert (answer.status, new.status) == (403, 403)
    assert "/new" not in await viewer.sees("/bridge")


async def test_a_member_does_not_put_away_what_others_have_made(scene: Scene) -> None:
    mia = await low(scene)

    page = await mia.sees(scene.project)
    answer = await mia.post(f"{scene.project}/archive", {"archived": "yes"})

    assert f"{scene.project}/archive" not in page
    assert answer.status == 403
