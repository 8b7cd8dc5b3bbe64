"""What every search among messages keeps to: the newest with all words, and none from above."""

from portico.bridge.core.conversations import Conversation
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import FINANCE, LAW, TEAM, a_project, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation, at, edited, message_id, say
from tests.contracts.doors import Doors


async def found(
    doors: Doors,
    caller: Principal,
    words: str,
    *,
    inside: Conversation | None = None,
    project: Conversation | None = None,
    upto: Label | None = None,
    limit: int = 20,
) -> list[str]:
    hits = await doors.message_search.by_words(
        caller,
        words,
        project=None if project is None else project.project,
        conversation=None if inside is None else inside.id,
        max_label=upto,
        limit=limit,
    )
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    return [hit.message.body for hit in hits]


async def test_those_with_all_the_words_are_found_the_newest_first(doors: Doors) -> None:
    admin = await cleared_root(doors)
    talk = await a_conversation(doors, admin, await a_project(doors, admin))
    for minute, body in enumerate(["The red house", "A red car", "HOUSE, red!", "Räder"], start=1):
        await say(doors, admin, talk, body, minute=minute)

    assert await found(doors, admin, "red") == ["HOUSE, red!", "A red car", "The red house"]
    assert await found(doors, admin, "house RED") == ["HOUSE, red!", "The red house"]
    assert await found(doors, admin, "red", limit=2) == ["HOUSE, red!", "A red car"]
    assert await found(doors, admin, "räder") == ["Räder"]
    for nothing in ("green", "red green", "", "  ", "'", "\\", "!&|", "~1", str(admin.space.value)):
        assert await found(doors, admin, nothing) == []


async def test_what_is_above_closed_deleted_or_elsewhere_is_not_found(doors: Doors) -> None:
    admin, other = await cleared_root(doors), await cleared_root(doors, "acme")
    low = await joined(doors, admin, "low", TEAM)
    project = await a_project(doors, admin)
    talk = await a_conversation(doors, admin, project)
    shut = await a_conversation(doors, admin, project, "shut", closed=True)
    await say(doors, admin, talk, "red low")
    await say(doors, admin, talk, "red high", label=FINANCE, minute=2)
    await say(doors, admin, talk, "red law", label=LAW, minute=3)
    await say(doors, admin, shut, "red among us", minute=4)
    await say(doors, admin, talk, "red gone", minute=5)
    await doors.messages.delete(admin, message_id("red gone"), at(9))

    assert await found(doors, low, "red") == ["red low"]
    assert await found(doors, admin, "red") == ["red among us", "red law", "red high", "red low"]
    assert await found(doors, admin, "red", upto=FINANCE) == ["red among us", "red high", "red low"]
    assert await found(doors, admin, "red", upto=PUBLIC) == []
    assert await found(doors, other, "red") == []

    await doors.conversations.join(admin, shut.id, low.id)
    assert await found(doors, low, "red") == ["red among us", "red low"]


async def test_it_can_be_looked_for_in_one_place(doors: Doors, admin: Principal) -> None:
    project, elsewhere = await a_project(doors, admin), await a_project(doors, admin, "zeus")
    one, two = [await a_conversation(doors, admin, project, name) for name in ("one", "two")]
    three = await a_conversation(doors, admin, elsewhere, "three")
    for minute, talk in enumerate((one, two, three), start=1):
        await say(doors, admin, talk, f"red {talk.title}", minute=minute)

    assert await found(doors, admin, "red", inside=two) == ["red two"]
    assert await found(doors, admin, "red", project=one) == ["red two", "red one"]
    assert await found(doors, admin, "red", project=one, inside=three) == []


async def test_what_was_edited_is_found_by_what_it_says_now(doors: Doors, admin: Principal) -> None:
    low = await joined(doors, admin, "low", TEAM)
    talk = await a_conversation(doors, admin, await a_project(doors, admin))
    said = (await say(doors, admin, talk, "red")).message

    await doors.messages.edit(admin, edited(said, "green"), at(5))
    assert await found(doors, low, "red") == []
    assert await found(doors, low, "green") == ["green"]
    await doors.messages.edit(admin, edited(said, "green", FINANCE), at(6))
    assert await found(doors, low, "green") == []
    assert await found(doors, admin, "green") == ["green"]
