"""The bridge in the console: talk, single messages, and what else a project holds."""

import pytest

from tests.interfaces.console.bridge_scene import Scene, staged, words
from tests.interfaces.console.conftest import Browser, somebody
from tests.interfaces.http.asgi import Header

HTMX: Header = (b"hx-request", b"true")


@pytest.fixture
async def scene(console: Browser) -> Scene:
    return await staged(console)


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


async def test_a_conversation_is_muted_left_joined_and_put_away(scene: Scene) -> None:
    muted = await scene.console.does(f"{scene.at}/mute", {"muted": "yes"})
    page = await scene.console.sees(muted)
    left = await scene.console.does(f"{scene.at}/leave", {})
    outside = await scene.console.sees(left)
    await scene.console.does(f"{scene.at}/join", {})
    inside = await scene.console.sees(scene.at)
    await scene.console.does(f"{scene.at}/archive", {"archived": "yes"})

    assert ("Unmute" in page, ">Join<" in outside, "Mute" in inside) == (True, True, True)
    assert "nothing is said here any more" in await scene.console.sees(scene.at)
    assert "Nests" in await scene.console.sees(f"{scene.project}?archived=yes")
    assert "No conversation yet." in await scene.console.sees(scene.project)


async def test_messages_are_found_by_their_words(scene: Scene) -> None:
    said = await scene.says("The heron sleeps.")

    found = await scene.console.sees("/bridge/search?q=heron")
    nothing = await scene.console.sees("/bridge/search?q=stork")

    assert f"{scene.at}/messages/{said}" in found
    assert "Nothing was found" in nothing


async def own(scene: Scene, text: str, **more: object) -> str:
    """Ana's own message: where it is."""
    sent = await scene.table.ana.says(scene.table.conversation, text, **more)
    return f"{scene.at}/messages/{sent['id']}"


async def test_a_message_is_shown_with_its_thread(scene: Scene) -> None:
    said = await scene.says("Three eggs.")
    await scene.says("Four by now.", reply_to=said)

    page = await scene.console.sees(f"{scene.at}/messages/{said}")
    text = words(page)

    assert f'data-from="{scene.project}/list?at={scene.table.conversation}"' in page
    assert "Thread" in text
    assert "Four by now." in text


async def test_what_was_changed_keeps_its_versions_and_what_was_deleted_says_so(
    scene: Scene,
) -> None:
    at = await own(scene, "Three eggs.")

    empty = await scene.console.post(f"{at}/edit", {"body": " "})
    changed = words(
        await scene.console.sees(await scene.console.does(f"{at}/edit", {"body": "Four."}))
    )
    deleted = words(await scene.console.sees(await scene.console.does(f"{at}/delete", {})))

    assert (empty.status, b"must be filled in" in empty.body) == (422, True)
    wanted = ("Four.", "1 earlier version", "Three eggs.")
    assert [it for it in wanted if it not in changed] == [], changed
    assert ("Deleted." in deleted, "Three eggs." in deleted) == (True, False)


async def test_whoever_has_it_says_so(scene: Scene) -> None:
    me = (await scene.table.ana.got("GET", "/me"))["id"]
    said = await scene.says("Have you got it?", addressed=[me], acknowledge={})
    before = await scene.console.sees(scene.at)

    await scene.console.does(f"{scene.at}/messages/{said}/confirm", {})

    assert "I have it" in before
    after = await scene.console.sees(scene.at)
    assert "I have it" not in after
    assert "confirmed by ana" in words(after)


async def test_a_file_is_fetched_and_never_shown_as_a_page(scene: Scene) -> None:
    added = await scene.table.site.ask(
        "POST", f"/api/v1/projects/{scene.table.project}/attachments", query="name=eggs.html"
    )
    await own(scene, "See this.", attachments=[added.json["digest"]])

    page = await scene.console.sees(scene.at)
    answer = await scene.console.get(f"/bridge/attachments/{added.json['digest']}")
    nothing = await scene.console.get(f"/bridge/attachments/{'0' * 64}")

    assert f"/bridge/attachments/{added.json['digest']}" in page
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert nothing.status == 404


async def test_lowering_is_asked_for_and_shows_what_would_be_said(scene: Scene) -> None:
    at = await own(scene, "The key is AKIAIOSFODNN7EXAMPLE.", label="confidential")
    page = await scene.console.sees(at)

    answer = await scene.console.post(f"{at}/lower", {"to": "team"})

    assert "Ask for a copy that is" in page
    text = words(answer.body.decode())
    assert answer.status == 200
    assert "Somebody else has to say yes" in text
    assert "AKIAIOSFODNN7EXAMPLE" not in answer.body.decode().split("What the copy would say")[1]
    assert "waits for an answer" in words(await scene.console.sees(at))


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


async def test_who_is_there_and_the_budget_of_debates_are_shown(scene: Scene) -> None:
    doing = {"doing": "busy", "note": "counting eggs"}
    await scene.table.robin.got("PUT", f"/projects/{scene.table.project}/presence", doing)

    part = await scene.console.get(f"{scene.project}/around", part=True)
    to = await scene.console.does(f"{scene.project}/budget", {"tokens": "5000", "money": "2.50"})
    refused = await scene.console.post(f"{scene.project}/budget", {"money": "much"})

    assert "robin busy counting eggs" in words(part.body.decode())
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


async def test_a_project_is_put_away_and_taken_out_again(scene: Scene) -> None:
    await scene.console.does(f"{scene.project}/archive", {"archived": "yes"})
    away = await scene.console.sees(scene.project)
    await scene.console.does(f"{scene.project}/archive", {"archived": "no"})

    assert "archived" in words(away)
    assert "Take a lease" not in away
    assert "Take a lease" in await scene.console.sees(scene.project)


async def test_an_audience_tells_nothing_of_an_agent_above_whoever_writes(scene: Scene) -> None:
    """Scout is cleared for more than Mia: it is there, and it is not counted."""
    mia = await somebody(scene.console, "mia")
    await mia.does(f"{scene.at}/join", {})

    page = words(await mia.sees(scene.at))
    asked = await mia.get(f"{scene.at}/audience?label=team", part=True)
    higher = await mia.get(f"{scene.at}/audience?label=confidential", part=True)

    assert "ana, robin will see this." in page
    for told in (words(asked.body.decode()), words(higher.body.decode())):
        assert "scout" not in told
    assert "1 participant is not cleared." in words(higher.body.decode())
