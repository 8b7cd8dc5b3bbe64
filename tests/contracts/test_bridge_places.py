"""What every store of projects, conversations and presence keeps to: what is above a reader is not
there, nor in any order, and closed conversations are for those who take part alone."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.errors import (
    ConversationNotFound,
    NotTakingPart,
    ProjectNameTaken,
    ProjectNotFound,
    WriteDown,
)
from portico.bridge.core.presence import Presence, PresenceStatus
from portico.bridge.core.projects import Project, ProjectId
from portico.guard.core.errors import PrincipalNotFound
from portico.kernel.ids import PrincipalId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.bridge_people import (
    FINANCE,
    LAW,
    SECRET,
    TEAM,
    a_project,
    cleared_root,
    joined,
)
from tests.contracts.bridge_talk import a_conversation, at, say
from tests.contracts.doors import REFUSED, Doors

UNTIL = BEGINNING + timedelta(minutes=2)


async def projects(
    doors: Doors,
    caller: Principal,
    *,
    archived: bool = False,
    after: str | None = None,
    limit: int = 9,
) -> list[Project]:
    return [*await doors.projects.page(caller, archived=archived, after=after, limit=limit)]


async def test_a_project_is_found_by_its_id_and_by_its_name_and_can_be_changed(
    doors: Doors, admin: Principal
) -> None:
    project, other = (
        await a_project(doors, admin, "apollo ä"),
        await a_project(doors, admin, "zeus"),
    )
    for which in (str(project.id), "apollo ä"):
        assert await doors.projects.get(admin, which) == project
    changed = replace(project, name="gemini", description="Two.", archived_at=at(3))

    await doors.projects.put(admin, changed)

    assert await doors.projects.get(admin, "gemini") == changed
    assert await projects(doors, admin, archived=True) == [changed]
    assert await projects(doors, admin) == [other]
    with pytest.raises(ProjectNameTaken):
        await doors.projects.put(admin, replace(changed, name="zeus"))


async def test_a_project_that_is_above_or_in_another_space_is_not_there(
    doors: Doors, admin: Principal, low: Principal
) -> None:
    """Nor anybody in it."""
    other = await cleared_root(doors, "acme")
    project = await a_project(doors, admin, label=FINANCE)

    for caller in (low, other):
        for which in (str(project.id), "apollo", "nothing", str(ProjectId(admin.id.value))):
            with pytest.raises(ProjectNotFound):
                await doors.projects.get(caller, which)
        for refused in (
            doors.projects.put(caller, project),
            doors.presences.say(caller, project.id, PresenceStatus.THERE, "", UNTIL),
            doors.presences.all(caller, project.id, BEGINNING),
        ):
            with pytest.raises(ProjectNotFound):
                await refused
        assert await projects(doors, caller) == []


async def test_a_name_is_one_project_within_a_label_and_the_most_secret_is_meant(
    doors: Doors, admin: Principal, low: Principal
) -> None:
    public, team, finance = [
        await a_project(doors, admin, label=label) for label in (PUBLIC, TEAM, FINANCE)
    ]

    with pytest.raises(ProjectNameTaken):
        await doors.projects.add(
            low, replace(team, id=ProjectId.mint(BEGINNING, SeededEntropy("another")))
        )
    assert await doors.projects.get(admin, "apollo") == finance
    assert await doors.projects.get(low, "apollo") == team
    assert await doors.projects.get(replace(low, clearance=PUBLIC), "apollo") == public


async def test_nothing_is_made_above_its_maker_or_below_what_they_have_read(
    doors: Doors, admin: Principal
) -> None:
    ana = await joined(doors, admin, "ana", FINANCE)
    project, there = await a_project(doors, admin, label=PUBLIC), (PresenceStatus.BUSY, "", UNTIL)
    await doors.presences.say(ana, project.id, *there)
    with pytest.raises(REFUSED):
        await a_project(doors, ana, label=SECRET)
    with pytest.raises(REFUSED):
        await a_conversation(doors, ana, project, label=SECRET)

    await doors.contexts.raise_taint(ana, FINANCE, untrusted=False)

    for refused in (
        a_project(doors, ana, "other", label=TEAM),
        a_conversation(doors, ana, project, label=TEAM),
    ):
        with pytest.raises(WriteDown) as error:
            await refused
        assert (error.value.wanted, error.value.mark) == (TEAM, FINANCE)
    with pytest.raises(WriteDown):
        await doors.presences.say(ana, project.id, PresenceStatus.AWAY, "", UNTIL)
    [only] = await doors.presences.all(ana, project.id, BEGINNING)
    assert only.doing is PresenceStatus.BUSY
    await a_project(doors, ana, "other", label=FINANCE)
    await a_conversation(doors, ana, project, label=FINANCE)


async def test_the_latest_news_that_the_reader_may_see_come_first_in_projects(
    doors: Doors, admin: Principal, low: Principal
) -> None:
    names = ("one", "two", "three")
    one, two, three = [await a_project(doors, admin, name) for name in names]
    talks = {p.name: await a_conversation(doors, admin, p) for p in (one, two, three)}
    await say(doors, admin, talks["two"], "low news", minute=10)
    await say(doors, admin, talks["one"], "high news", label=FINANCE, minute=20)
    shut = await a_conversation(doors, admin, three, "shut", closed=True)
    await say(doors, admin, shut, "among us", minute=30)

    for reader, order in ((admin, ["three", "one", "two"]), (low, ["two"])):
        listed = await projects(doors, reader)
        assert [project.name for project in listed][: len(order)] == order
        assert listed[0].active_at == (at(30) if reader is admin else at(10))
        assert {project.active_at for project in listed[len(order) :]} <= {BEGINNING}


async def page(
    doors: Doors,
    caller: Principal,
    project: ProjectId | None = None,
    *,
    archived: bool = False,
    after: str | None = None,
    limit: int = 20,
) -> list[Conversation]:
    conversations = doors.conversations
    found = await conversations.page(caller, project, archived=archived, after=after, limit=limit)
    return [*found]


async def takes_part(doors: Doors, caller: Principal, conversation: Conversation) -> list[str]:
    every = await doors.conversations.participants(caller, conversation.id)
    return sorted(who.name for who in every)


async def test_pages_follow_one_another_and_nothing_follows_what_is_not_there(
    doors: Doors, admin: Principal, low: Principal
) -> None:
    for number in range(5):
        project = await a_project(doors, admin, f"p{number}")
    for number in range(5):
        await a_conversation(doors, admin, project, str(number))
    hidden = await a_project(doors, admin, "hidden", LAW)
    secret = await a_conversation(doors, admin, project, "secret", label=FINANCE)

    for listed, above in ((projects, hidden.id), (page, secret.id)):
        every, after = await listed(doors, low), None
        paged: list[Project | Conversation] = []
        while found := await listed(doors, low, after=after, limit=2):
            paged += found
            after = str(found[-1].id)
        assert len(every) == 5
        assert paged == every
        for unknown in (str(above), "nothing", "", str(ConversationId(admin.id.value))):
            assert await listed(doors, low, after=unknown) == []


async def test_a_conversation_is_there_and_its_maker_takes_part(
    doors: Doors, admin: Principal, project: Project, talk: Conversation
) -> None:
    changed = replace(talk, title="more plans ü", archived_at=at(3))
    assert await doors.conversations.get(admin, talk.id) == talk
    assert await takes_part(doors, admin, talk) == ["root"]
    assert await page(doors, admin, project.id) == [talk]

    await doors.conversations.put(admin, changed)

    assert await doors.conversations.get(admin, talk.id) == changed
    assert await page(doors, admin) == []
    assert await page(doors, admin, archived=True) == [changed]


async def test_a_conversation_that_is_above_or_in_another_space_is_not_there(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    other = await cleared_root(doors, "acme")
    talk = await a_conversation(doors, admin, project, label=FINANCE)
    hidden = await a_project(doors, admin, "hidden", label=FINANCE)
    conversations = doors.conversations

    for caller in (low, other):
        assert await page(doors, caller) == []
        assert await conversations.some(caller, [talk.id]) == []
        for refused in (
            conversations.get(caller, talk.id),
            conversations.put(caller, talk),
            conversations.participants(caller, talk.id),
            conversations.join(caller, talk.id, caller.id),
            conversations.leave(caller, talk.id, admin.id),
            conversations.mute(caller, talk.id, muted=True),
        ):
            with pytest.raises(ConversationNotFound):
                await refused
    for where in (hidden, replace(hidden, id=ProjectId(admin.id.value))):
        with pytest.raises(ProjectNotFound):
            await a_conversation(doors, low, where)


async def test_a_closed_one_is_there_for_those_who_take_part_alone(
    doors: Doors, admin: Principal, project: Project
) -> None:
    ana, bob = [await joined(doors, admin, name) for name in ("ana", "bob")]
    talk = await a_conversation(doors, ana, project, closed=True)

    with pytest.raises(ConversationNotFound):
        await doors.conversations.get(admin, talk.id)
    with pytest.raises(ConversationNotFound):
        await doors.conversations.join(bob, talk.id, bob.id)
    assert await page(doors, admin) == []

    await doors.conversations.join(ana, talk.id, bob.id)
    assert await doors.conversations.get(bob, talk.id) == talk
    assert await page(doors, bob) == [talk]
    assert await takes_part(doors, bob, talk) == ["ana", "bob"]

    await doors.conversations.leave(ana, talk.id, ana.id)
    with pytest.raises(ConversationNotFound):
        await doors.conversations.get(ana, talk.id)
    assert await takes_part(doors, bob, talk) == ["bob"]


async def test_the_latest_news_that_the_reader_may_see_come_first_in_conversations(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    elsewhere = await a_project(doors, admin, "zeus")
    one, two, three = [await a_conversation(doors, admin, project, str(n)) for n in range(3)]
    four = await a_conversation(doors, admin, elsewhere, "four", made_at=at(5))
    await say(doors, admin, two, "low news", minute=10)
    await say(doors, admin, one, "high news", label=FINANCE, minute=20)

    for reader, order in ((admin, [one, two, four]), (low, [two, four])):
        listed = await page(doors, reader)
        assert [talk.id for talk in listed][: len(order)] == [talk.id for talk in order]
        some = await doors.conversations.some(reader, [three.id, two.id])
        assert [talk.id for talk in some] == [two.id, three.id]
    assert (await doors.conversations.get(low, one.id)).active_at == one.made_at
    assert (await doors.conversations.get(admin, one.id)).active_at == at(20)
    assert {talk.id for talk in await page(doors, low, project.id)} == {one.id, two.id, three.id}


async def test_somebody_joins_once_and_leaves_once_and_that_it_is_muted_is_told_to_them_alone(
    doors: Doors, admin: Principal, low: Principal, talk: Conversation
) -> None:
    nobody = PrincipalId(talk.id.value)
    for _ in range(2):
        await doors.conversations.join(admin, talk.id, low.id)
    assert await takes_part(doors, low, talk) == ["low", "root"]

    await doors.conversations.mute(low, talk.id, muted=True)
    for reader, expected in ((low, True), (admin, False)):
        every = await doors.conversations.participants(reader, talk.id)
        assert {who.muted for who in every if who.principal == low.id} == {expected}
    await doors.conversations.mute(low, talk.id, muted=False)
    every = await doors.conversations.participants(low, talk.id)
    assert {who.muted for who in every} == {False}

    await doors.conversations.leave(low, talk.id, low.id)
    assert await takes_part(doors, low, talk) == ["root"]
    with pytest.raises(NotTakingPart):
        await doors.conversations.leave(low, talk.id, low.id)
    with pytest.raises(NotTakingPart):
        await doors.conversations.mute(low, talk.id, muted=True)
    with pytest.raises(PrincipalNotFound):
        await doors.conversations.join(admin, talk.id, nobody)


async def test_who_is_there_is_seen_until_it_is_over_by_what_they_said_last(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    presences, other = doors.presences, await a_project(doors, admin, "gemini")
    later = UNTIL + timedelta(seconds=1)

    await presences.say(admin, project.id, PresenceStatus.AWAY, "", later)
    await presences.say(admin, project.id, PresenceStatus.BUSY, "building", UNTIL)
    await presences.say(low, project.id, PresenceStatus.THERE, "", later)

    there = Presence(principal=low.id, name="low", doing=PresenceStatus.THERE, until=later)
    busy = Presence(
        principal=admin.id, name="root", doing=PresenceStatus.BUSY, note="building", until=UNTIL
    )
    assert await presences.all(low, project.id, BEGINNING) == [there, busy]
    assert await presences.all(low, project.id, UNTIL) == [there]
    assert await presences.all(admin, other.id, BEGINNING) == []
