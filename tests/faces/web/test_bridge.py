"""The bridge in the console: what waits, conversations, saying something."""

import pytest

from tests.faces.http.asgi import Header
from tests.faces.web.bridge_scene import Scene, staged, words
from tests.faces.web.conftest import Browser

HTMX: Header = (b"hx-request", b"true")
HOSTILE = "<img src=x onerror=alert(1)>\"'{{7*7}}"
ESCAPED = "&lt;img src=x onerror=alert(1)&gt;"


@pytest.fixture
async def scene(console: Browser) -> Scene:
    return await staged(console)


async def test_without_a_project_one_is_told_how_to_begin(console: Browser) -> None:
    text = await console.sees("/bridge")

    assert "Create a project" in text
    assert "/mcp/bridge" in text
    assert "mcpServers" in text


async def test_a_project_is_made_once_however_often_the_form_is_sent(console: Browser) -> None:
    form = {"name": "Heron", "description": "Birds.", "label": "team", "once": "a1"}

    first, again = await console.does("/bridge/new", form), await console.does("/bridge/new", form)

    assert first == again
    assert "Heron" in await console.sees(first)


async def test_a_refused_project_keeps_what_was_typed(scene: Scene) -> None:
    form = {"name": "heron", "description": "Other words.", "label": "team"}

    answer = await scene.console.post("/bridge/new", form)

    assert answer.status == 409
    assert b"The name is taken" in answer.body
    assert b"Other words." in answer.body


async def test_the_inbox_tells_what_is_unread_and_what_names_one(scene: Scene) -> None:
    await scene.says("Three eggs.")
    await scene.says("@ana, do you see them?")

    text = words(await scene.console.sees("/bridge"))

    assert "2 unread messages in 1 conversation" in text
    assert "Nests heron 1 for you 2 unread" in text


async def test_the_next_unread_is_one_key_away(scene: Scene) -> None:
    await scene.says("Three eggs.")

    answer = await scene.console.get("/bridge/next")
    then = await scene.console.get(f"/bridge/next?from={scene.table.conversation}")

    assert (answer.status, answer.headers["location"]) == (303, scene.at)
    assert then.headers["location"] == "/bridge"


async def test_a_conversation_shows_who_said_what_with_its_label(scene: Scene) -> None:
    await scene.says("Three **eggs**.")
    await scene.says("Secret.", label="confidential")

    text = await scene.console.sees(scene.at)

    assert "<strong>eggs</strong>" in text
    assert "scout agent" in words(text)
    assert text.count('class="label confidential"') >= 2
    assert "Mark 2 messages read" in text


async def test_what_was_seen_is_marked_read(scene: Scene) -> None:
    await scene.says("Three eggs.")
    page = await scene.console.sees(scene.at)
    cursor = page.split('name="cursor" value="')[1].split('"')[0]

    answer = await scene.console.post(f"{scene.at}/read", {"cursor": cursor}, HTMX)

    assert answer.status == 200
    assert b'id="bridge-list"' in answer.body
    assert "Everything is read" in await scene.console.sees("/bridge")


async def test_something_is_said_once(scene: Scene) -> None:
    form = {"body": "I see them.", "label": "team", "once": "b2"}

    assert await scene.console.does(scene.at, form) == scene.at
    assert await scene.console.does(scene.at, form) == scene.at

    read = await scene.table.robin.reads(scene.table.conversation)
    assert [each["body"] for each in read["data"]] == ["I see them."]


async def test_an_answer_is_directed_and_asks_to_be_confirmed(scene: Scene) -> None:
    said = await scene.says("Three eggs.")
    form: dict[str, str | list[str]] = {
        "body": "Count them.",
        "label": "team",
        "reply": said,
        "to": [scene.table.scout.id],
        "within": "day",
    }

    await scene.console.does(scene.at, form)

    read = await scene.table.scout.reads(scene.table.conversation)
    sent = read["data"][-1]
    assert (sent["reply_to"], sent["addressed"]) == (said, [scene.table.scout.id])
    assert sent["acknowledge"]["until"] is not None
    text = words(await scene.console.sees(scene.at))
    assert "to scout" in text
    assert "nobody has confirmed it yet" in text


async def test_less_secret_than_what_was_read_is_refused_with_its_fix(scene: Scene) -> None:
    await scene.says("Secret.", label="confidential")
    await scene.console.sees(scene.at)

    answer = await scene.console.post(scene.at, {"body": "Team talk.", "label": "team"})

    text = words(answer.body.decode())
    assert answer.status == 403
    assert "Less secret than what was read" in text
    assert "Write it as confidential" in text
    assert "Team talk." in answer.body.decode()
    assert '<option value="team"' not in answer.body.decode()


async def test_the_form_tells_who_will_see_it(scene: Scene) -> None:
    page = words(await scene.console.sees(scene.at))
    higher = await scene.console.get(
        f"{scene.at}/audience?label=confidential&to={scene.table.robin.id}", part=True
    )

    assert "scout, robin will see this." in page
    told = words(higher.body.decode())
    assert "robin will not see it" in told
    assert "scout will see this. 1 participant is not cleared." in told


async def test_older_messages_come_by_cursor_and_none_twice(scene: Scene) -> None:
    for number in range(60):
        await scene.says(f"Egg number {number}.")

    seen: list[str] = []
    page = await scene.console.sees(scene.at)
    while True:
        found = [each.split('"')[0] for each in page.split('<article class="bridge-said')[1:]]
        assert found
        ids = [each.split('id="')[1].split('"')[0] for each in page.split("<article ")[1:]]
        seen = [*ids, *seen]
        if "/older?before=" not in page:
            break
        before = page.split("/older?before=")[1].split('"')[0].split("&")[0]
        answer = await scene.console.get(f"{scene.at}/older?before={before}", part=True)
        page = answer.body.decode()

    assert len(seen) == len(set(seen)) == 60


async def test_no_part_is_large_whatever_is_said(scene: Scene) -> None:
    for number in range(30):
        await scene.says(f"{number} " + "<&> word " * 900)

    page = await scene.console.sees(scene.at)
    before = page.split("/older?before=")[1].split('"')[0].split("&")[0]
    part = await scene.console.get(f"{scene.at}/older?before={before}", part=True)

    assert len(part.body) < 50_000
    assert len(page) < 75_000
    assert "Read the whole message" in page


async def test_what_comes_is_added_where_the_page_ends(scene: Scene) -> None:
    await scene.says("One.")
    page = await scene.console.sees(scene.at)
    await scene.says("Two.")
    where = page.split('data-swap="outerHTML"')[0].rsplit('data-from="', 1)[1].split('"')[0]

    first = (await scene.console.get(where.replace("&amp;", "&"), part=True)).body.decode()
    then = first.split('data-from="')[1].split('"')[0].replace("&amp;", "&")
    nothing = await scene.console.get(then, part=True)

    assert nothing.status == 204
    assert "Two." in first
    assert "One." not in first
    assert 'id="bridge-end"' in first
    assert "hx-swap-oob" not in first


async def test_a_secret_that_comes_raises_the_least_that_one_can_write(scene: Scene) -> None:
    page = await scene.console.sees(scene.at)
    await scene.says("Secret.", label="confidential")
    where = page.split('data-swap="outerHTML"')[0].rsplit('data-from="', 1)[1].split('"')[0]

    part = (await scene.console.get(where.replace("&amp;", "&"), part=True)).body.decode()

    assert 'id="bridge-labels" hx-swap-oob' in part
    assert '<option value="team"' not in part


async def test_a_page_is_told_that_something_was_said(scene: Scene) -> None:
    async with scene.console.live(scene.table.conversation) as stream:
        await stream.until(lambda: stream.status == 200)
        await scene.says("Three eggs.")
        await stream.until(lambda: any(each.data for each in stream.messages))

    told = [each.data for each in stream.messages if each.data]
    assert {each["topic"] for each in told} == {scene.table.conversation}


async def test_muting_joining_and_leaving(scene: Scene) -> None:
    muted = await scene.console.does(f"{scene.at}/mute", {"muted": "yes"})
    page = await scene.console.sees(muted)
    left = await scene.console.does(f"{scene.at}/leave", {})
    outside = await scene.console.sees(left)
    await scene.console.does(f"{scene.at}/join", {})

    assert "Unmute" in page
    assert ">Join<" in outside
    assert "Mute" in await scene.console.sees(scene.at)


async def test_a_conversation_is_put_away_and_says_so(scene: Scene) -> None:
    await scene.console.does(f"{scene.at}/archive", {"archived": "yes"})

    page = await scene.console.sees(scene.at)
    listed = await scene.console.sees(f"{scene.project}?archived=yes")

    assert "nothing is said here any more" in page
    assert "Nests" in listed
    assert "No conversation yet." in await scene.console.sees(scene.project)


async def test_messages_are_found_by_their_words(scene: Scene) -> None:
    said = await scene.says("The heron sleeps.")

    found = await scene.console.sees("/bridge/search?q=heron")
    nothing = await scene.console.sees("/bridge/search?q=stork")

    assert f"{scene.at}/messages/{said}" in found
    assert "Nothing was found" in nothing


async def test_hostile_words_are_text(scene: Scene) -> None:
    made = await scene.console.does(f"{scene.project}/new", {"title": HOSTILE, "label": "team"})
    await scene.console.does(made, {"body": HOSTILE, "label": "team"})

    for path in [made, scene.project, "/bridge", "/bridge/search?q=img"]:
        text = await scene.console.sees(path)

        assert "<img" not in text
        assert ESCAPED in text
        assert "49" not in words(text).replace("{{7*7}}", "")


async def test_what_is_not_there_is_not_found(scene: Scene) -> None:
    answer = await scene.console.get(f"{scene.project}/cnv_nothing")
    other = await scene.console.get(f"/bridge/prj_{'0' * 26}/{scene.table.conversation}")

    assert answer.status == 404
    assert other.status == 404
