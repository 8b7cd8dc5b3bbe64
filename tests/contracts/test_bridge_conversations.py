"""What every store of conversations keeps to: the closed ones are for those who take part alone."""

from dataclasses import replace

import pytest

from portico.bridge.core.conversation import Conversation, ConversationId
from portico.bridge.core.errors import (
    ConversationNotFound,
    NotTakingPart,
    ProjectNotFound,
    WriteDown,
)
from portico.bridge.core.project import ProjectId
from portico.guard.core.errors import PrincipalNotFound
from portico.kernel.ids import PrincipalId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import FINANCE, SECRET, TEAM, a_project, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation, at, say
from tests.contracts.doors import REFUSED, Doors


async def page(
    doors: Doors, caller: Principal, project: ProjectId | None = None, *, archived: bool = False
) -> list[Conversation]:
    found = await doors.conversations.page(caller, project, archived=archived, after=None, limit=20)
    return [*found]


async def takes_part(doors: Doors, caller: Principal, conversation: Conversation) -> list[str]:
    every = await doors.conversations.participants(caller, conversation.id)
    return sorted(who.name for who in every)


async def test_a_conversation_is_there_and_its_maker_takes_part(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    talk = await a_conversation(doors, root, project, "grüße")

    assert await doors.conversations.get(root, talk.id) == talk
    assert await takes_part(doors, root, talk) == ["root"]
    assert await page(doors, root, project.id) == [talk]


async def test_what_is_above_or_in_another_space_is_not_there(doors: Doors) -> None:
    root, other = await cleared_root(doors), await cleared_root(doors, "acme")
    low = await joined(doors, root, "low", TEAM)
    project = await a_project(doors, root)
    talk = await a_conversation(doors, root, project, label=FINANCE)
    conversations = doors.conversations

    for caller in (low, other):
        assert await page(doors, caller) == []
        assert await conversations.some(caller, [talk.id]) == []
        for refused in (
            conversations.get(caller, talk.id),
            conversations.put(caller, talk),
            conversations.participants(caller, talk.id),
            conversations.join(caller, talk.id, caller.id),
            conversations.leave(caller, talk.id, root.id),
            conversations.mute(caller, talk.id, muted=True),
        ):
            with pytest.raises(ConversationNotFound):
                await refused


async def test_a_closed_one_is_there_for_those_who_take_part_alone(doors: Doors) -> None:
    root = await cleared_root(doors)
    ana, bob = [await joined(doors, root, name) for name in ("ana", "bob")]
    project = await a_project(doors, root)
    talk = await a_conversation(doors, ana, project, closed=True)

    with pytest.raises(ConversationNotFound):
        await doors.conversations.get(root, talk.id)
    with pytest.raises(ConversationNotFound):
        await doors.conversations.join(bob, talk.id, bob.id)
    assert await page(doors, root) == []

    await doors.conversations.join(ana, talk.id, bob.id)
    assert await doors.conversations.get(bob, talk.id) == talk
    assert await page(doors, bob) == [talk]
    assert await takes_part(doors, bob, talk) == ["ana", "bob"]

    await doors.conversations.leave(ana, talk.id, ana.id)
    with pytest.raises(ConversationNotFound):
        await doors.conversations.get(ana, talk.id)
    assert await takes_part(doors, bob, talk) == ["bob"]


async def test_it_is_made_in_a_project_that_its_maker_can_see(doors: Doors) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    project = await a_project(doors, root, label=FINANCE)
    unknown = replace(project, id=ProjectId(root.id.value))

    for where in (project, unknown):
        with pytest.raises(ProjectNotFound):
            await a_conversation(doors, low, where)


async def test_none_is_made_above_its_maker_or_below_what_they_have_read(doors: Doors) -> None:
    root = await cleared_root(doors)
    ana = await joined(doors, root, "ana", FINANCE)
    project = await a_project(doors, root, label=PUBLIC)

    with pytest.raises(REFUSED):
        await a_conversation(doors, ana, project, label=SECRET)
    await doors.contexts.rise(ana, FINANCE, untrusted=False)
    with pytest.raises(WriteDown) as refused:
        await a_conversation(doors, ana, project, label=TEAM)

    assert (refused.value.wanted, refused.value.mark) == (TEAM, FINANCE)
    await a_conversation(doors, ana, project, label=FINANCE)


async def test_its_title_and_whether_it_is_archived_can_be_changed(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    talk = await a_conversation(doors, root, project)
    changed = replace(talk, title="more plans", archived_at=at(3))

    await doors.conversations.put(root, changed)

    assert await doors.conversations.get(root, talk.id) == changed
    assert await page(doors, root) == []
    assert await page(doors, root, archived=True) == [changed]


async def test_the_latest_news_that_the_reader_may_see_come_first(doors: Doors) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    project, elsewhere = await a_project(doors, root), await a_project(doors, root, "zeus")
    one, two, three = [await a_conversation(doors, root, project, str(n)) for n in range(3)]
    four = await a_conversation(doors, root, elsewhere, "four", made_at=at(5))
    await say(doors, root, two, "low news", minute=10)
    await say(doors, root, one, "high news", label=FINANCE, minute=20)

    for reader, order in ((root, [one, two, four]), (low, [two, four])):
        listed = await page(doors, reader)
        assert [talk.id for talk in listed][: len(order)] == [talk.id for talk in order]
        some = await doors.conversations.some(reader, [three.id, two.id])
        assert [talk.id for talk in some] == [two.id, three.id]
    assert (await doors.conversations.get(low, one.id)).active_at == one.made_at
    assert (await doors.conversations.get(root, one.id)).active_at == at(20)
    assert {talk.id for talk in await page(doors, low, project.id)} == {one.id, two.id, three.id}


async def test_pages_follow_one_another_and_nothing_follows_what_is_not_there(doors: Doors) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    project = await a_project(doors, root)
    for number in range(5):
        await a_conversation(doors, root, project, str(number))
    hidden = await a_conversation(doors, root, project, "hidden", label=FINANCE)

    every = await page(doors, low)
    paged: list[Conversation] = []
    after: str | None = None
    while found := await doors.conversations.page(low, None, archived=False, after=after, limit=2):
        paged += found
        after = str(found[-1].id)

    assert len(every) == 5
    assert paged == every
    for unknown in (str(hidden.id), "nothing", str(ConversationId(root.id.value))):
        assert (
            await doors.conversations.page(low, None, archived=False, after=unknown, limit=9) == []
        )


async def test_somebody_joins_once_and_leaves_once(doors: Doors) -> None:
    root = await cleared_root(doors)
    ana = await joined(doors, root, "ana")
    talk = await a_conversation(doors, root, await a_project(doors, root))
    nobody = PrincipalId(talk.id.value)

    for _ in range(2):
        await doors.conversations.join(root, talk.id, ana.id)
    assert await takes_part(doors, ana, talk) == ["ana", "root"]
    await doors.conversations.leave(ana, talk.id, ana.id)
    assert await takes_part(doors, ana, talk) == ["root"]

    with pytest.raises(NotTakingPart):
        await doors.conversations.leave(ana, talk.id, ana.id)
    with pytest.raises(NotTakingPart):
        await doors.conversations.mute(ana, talk.id, muted=True)
    with pytest.raises(PrincipalNotFound):
        await doors.conversations.join(root, talk.id, nobody)


async def test_that_it_is_muted_is_told_to_them_alone(doors: Doors) -> None:
    root = await cleared_root(doors)
    ana = await joined(doors, root, "ana")
    talk = await a_conversation(doors, root, await a_project(doors, root))
    await doors.conversations.join(ana, talk.id, ana.id)

    await doors.conversations.mute(ana, talk.id, muted=True)

    for reader, expected in ((ana, True), (root, False)):
        every = await doors.conversations.participants(reader, talk.id)
        assert {who.muted for who in every if who.principal == ana.id} == {expected}
    await doors.conversations.mute(ana, talk.id, muted=False)
    every = await doors.conversations.participants(ana, talk.id)
    assert {who.muted for who in every} == {False}
