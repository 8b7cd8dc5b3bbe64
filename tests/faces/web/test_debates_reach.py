"""Debates that somebody may not read are not there for them, on any page."""

from collections.abc import AsyncIterator

import pytest

from portico.guard.core.roles import Role
from tests.faces.http.test_debates import decided, got, start
from tests.faces.web.bridge_scene import words
from tests.faces.web.conftest import Browser
from tests.faces.web.somebody import somebody

SECRET = "kingfisher"
QUESTION = f"Is the {SECRET} a bird?"


@pytest.fixture
async def held(console: Browser) -> AsyncIterator[Browser]:
    async with console.site.working():
        yield console


async def shared(held: Browser, label: str) -> str:
    """One of Ana's, that everybody in its project may read who is cleared."""
    project = await got(held.site, "POST", "/projects", {"name": f"p {label}", "label": "team"})
    debate = await decided(
        held.site, question=QUESTION, project=project["id"], label=label, shared=True
    )
    return f"/debates/{debate['id']}"


async def test_what_is_above_somebody_is_on_no_page(held: Browser) -> None:
    at = await shared(held, "confidential")
    mia = await somebody(held, "mia", clearance="team")

    for path in ("/debates", f"/debates?q={SECRET}", "/debates/list"):
        text = (await mia.sees(path)).replace(f'value="{SECRET}"', "").replace(f"q={SECRET}", "")
        assert SECRET not in text
    for path in (at, f"{at}/board", f"{at}/log", f"{at}/replay", f"{at}/seat/part"):
        assert (await mia.get(path)).status == 404


async def test_what_is_private_is_for_its_starter_alone(held: Browser) -> None:
    debate = await decided(held.site, question=QUESTION)
    mia = await somebody(held, "mia", clearance="restricted")

    answer = await mia.get(f"/debates/{debate['id']}")
    absent = await mia.get(f"/debates/dbt_{'0' * 26}")

    assert answer.status == absent.status == 404
    one = words(answer.body.decode()).replace(debate["id"], "X")
    assert one == words(absent.body.decode()).replace(f"dbt_{'0' * 26}", "X")


async def test_who_may_read_it_may_not_lead_it(held: Browser) -> None:
    at = await shared(held, "team")
    mia = await somebody(held, "mia", clearance="team")

    page = await mia.sees(at)
    answer = await mia.post(at, {"do": "promote", "to": "public"})

    assert QUESTION in page
    assert "Remove it" not in page
    assert "Let more people read it" not in page
    assert answer.status == 404


async def test_a_viewer_reads_and_starts_nothing(held: Browser) -> None:
    at = await shared(held, "team")
    viewer = await somebody(held, "vic", role=Role.VIEWER, clearance="team")

    page = await viewer.sees(at)
    form = await viewer.get("/debates/new")
    answer = await viewer.post("/debates/new", {"question": "Is it?"})

    assert "How did it turn out?" not in page
    assert "/debates/new" not in await viewer.sees("/debates")
    assert (form.status, answer.status) == (403, 403)


async def test_a_seat_tells_nothing_before_it_is_taken_and_nothing_to_the_uncleared(
    held: Browser,
) -> None:
    project = await got(held.site, "POST", "/projects", {"name": "p", "label": "team"})
    wish = {"question": QUESTION, "guests": 1, "project": project["id"], "label": "confidential"}
    answer = await start(held.site, wish)
    mia = await somebody(held, "mia", clearance="team")
    seat = f"/debates/{answer.json['id']}/seat"

    page = await mia.sees(seat)
    refused = await mia.post(seat, {"do": "join"})

    assert SECRET not in page
    assert refused.status == 404
    assert SECRET not in refused.body.decode()


async def test_a_stream_of_a_debate_above_somebody_is_silent(held: Browser) -> None:
    at = await shared(held, "confidential")
    mia = await somebody(held, "mia", clearance="team")

    async with mia.live(at.removeprefix("/debates/")) as stream:
        await stream.until(lambda: stream.status == 200)

    assert [each.data for each in stream.messages if each.data] == []
