"""One message in the console: its thread and versions, changed, deleted, confirmed, lowered."""

import pytest

from tests.faces.web.bridge_scene import Scene, staged, words
from tests.faces.web.conftest import Browser


@pytest.fixture
async def scene(console: Browser) -> Scene:
    return await staged(console)


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


async def test_what_was_changed_keeps_its_versions(scene: Scene) -> None:
    at = await own(scene, "Three eggs.")

    to = await scene.console.does(f"{at}/edit", {"body": "Four eggs."})

    text = words(await scene.console.sees(to))
    assert "Four eggs." in text
    assert "1 earlier version" in text
    assert "Three eggs." in text


async def test_an_edit_without_words_is_refused_where_it_was_written(scene: Scene) -> None:
    at = await own(scene, "Three eggs.")

    answer = await scene.console.post(f"{at}/edit", {"body": " "})

    assert answer.status == 422
    assert b"must be filled in" in answer.body


async def test_only_what_one_has_said_oneself_can_be_changed(scene: Scene) -> None:
    said = await scene.says("Three eggs.")
    at = f"{scene.at}/messages/{said}"

    page = await scene.console.sees(at)
    answer = await scene.console.post(f"{at}/edit", {"body": "Mine now."})

    assert f"{at}/edit" not in page
    assert answer.status == 403


async def test_a_deleted_message_says_that_it_was_there(scene: Scene) -> None:
    at = await own(scene, "Three eggs.")

    to = await scene.console.does(f"{at}/delete", {})

    text = words(await scene.console.sees(to))
    assert "Deleted." in text
    assert "Three eggs." not in text


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


async def test_a_copy_that_is_not_lower_is_refused_with_its_fix(scene: Scene) -> None:
    at = await own(scene, "Three eggs.", label="confidential")

    answer = await scene.console.post(f"{at}/lower", {"to": "restricted"})

    assert answer.status == 422
    assert "Not less secret than it is" in words(answer.body.decode())
