"""What every store of messages keeps to: places without a gap, a key once, nothing from above."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest

from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.errors import (
    AboveClearance,
    Archived,
    BelowContainer,
    ConversationNotFound,
    MessageNotFound,
    NotTheirs,
    WriteDown,
)
from portico.bridge.core.messages import NewMessage, ReplyRequest
from portico.bridge.core.projects import Project
from portico.bridge.ports import Stamp
from portico.engine.core.errors import KeyReused
from portico.guard.core.contexts import OpenedContext
from portico.guard.core.errors import ContextNotFound
from portico.kernel.ids import ContextId
from portico.kernel.label import PUBLIC, Label, Level, join
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import FINANCE, LAW, SECRET, TEAM, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation, at, bodies, edited, message_id, say, to
from tests.contracts.doors import REFUSED, Doors


async def say_all(
    doors: Doors, who: Principal, talk: Conversation, labels: list[Label] | None = None
) -> None:
    for number, label in enumerate(labels or [TEAM, FINANCE, TEAM, TEAM, LAW]):
        await say(doors, who, talk, f"number {number}", label=label)


async def test_a_message_is_read_as_it_was_sent(
    doors: Doors, admin: Principal, talk: Conversation
) -> None:
    first = await say(doors, admin, talk, "First. ä\n")
    whole = NewMessage(
        conversation=talk.id,
        body="Hello, ünïverse",
        reply_to=first.message.id,
        mentions=(admin.id,),
        addressed=(admin.id,),
        attachments=(Digest.of(b"x"),),
        acknowledge=ReplyRequest(until=at(9)),
        key="k",
    )

    sent = await say(doors, admin, talk, message=whole, label=FINANCE, untrusted=True, minute=2)

    assert (first.position, sent.position) == (1, 2)
    assert (await doors.messages.get(admin, first.message.id)).message == first.message
    assert (await doors.messages.get(admin, sent.message.id)).message == sent.message
    said = sent.message
    assert (said.sender, said.sender_name, said.body) == (admin.id, admin.name, whole.body)
    assert (said.label, said.untrusted, said.sent_at) == (FINANCE, True, at(2))
    assert (said.thread, said.reply_to) == (first.message.id, first.message.id)
    assert (said.mentions, said.addressed) == ((admin.id,), (admin.id,))
    assert (said.attachments, said.acknowledge) == (whole.attachments, whole.acknowledge)


async def test_places_have_no_gap_however_many_send_at_once(
    doors: Doors, admin: Principal, talk: Conversation
) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(12):
            label = (TEAM, FINANCE, SECRET)[number % 3]
            group.create_task(say(doors, admin, talk, f"number {number}", label=label))

    stretch = await doors.messages.after(admin, talk.id, after=0, limit=50)
    assert [placed.position for placed in stretch.found] == [*range(1, 13)]
    assert await doors.messages.end(admin, talk.id) == 12


async def test_what_is_above_the_reader_is_not_there(
    doors: Doors, admin: Principal, low: Principal, project: Project, talk: Conversation
) -> None:
    await say_all(doors, admin, talk, [TEAM, FINANCE, TEAM, LAW, SECRET])

    assert await bodies(doors, low, talk) == ["number 0", "number 2"]
    assert len(await bodies(doors, admin, talk)) == 5
    for name in ("number 1", "number 3", "number 4", "nothing"):
        for refused in (
            doors.messages.get(low, message_id(name)),
            doors.messages.versions(low, message_id(name)),
            doors.messages.acknowledge(low, message_id(name), at(9)),
            doors.messages.acknowledged(low, message_id(name)),
            doors.messages.delete(low, message_id(name), at(9), others=True),
            say(doors, low, talk, message=to(talk, "So?", reply_to=message_id(name))),
        ):
            with pytest.raises(MessageNotFound):
                await refused

    other = await a_conversation(doors, admin, project, "compartments")
    both = Label(Level.TEAM, frozenset({"finance", "law"}))
    await say(doors, admin, other, "Both.", label=both)
    await say(doors, admin, other, "One.", label=Label(Level.TEAM, frozenset({"law"})))
    for clearance, expected in ((FINANCE, []), (LAW, ["One."]), (both, ["Both.", "One."])):
        assert await bodies(doors, replace(low, clearance=clearance), other) == expected


async def test_a_stretch_tells_how_far_was_looked_there_and_back(
    doors: Doors, admin: Principal, low: Principal, talk: Conversation
) -> None:
    """And a reader may look at less than they are cleared for."""
    await say_all(doors, admin, talk)

    first = await doors.messages.after(low, talk.id, after=0, limit=2)
    rest = await doors.messages.after(low, talk.id, after=first.end, limit=2)
    none = await doors.messages.after(low, talk.id, after=rest.end, limit=2)
    assert ([placed.position for placed in first.found], first.end, first.more) == ([1, 3], 3, True)
    assert ([placed.position for placed in rest.found], rest.end, rest.more) == ([4], 5, False)
    assert (none.found, none.end, none.more, none.inside) == ([], 5, False, TEAM)

    last = await doors.messages.before(low, talk.id, before=None, limit=2)
    before = await doors.messages.before(low, talk.id, before=last.end, limit=2)
    none = await doors.messages.before(low, talk.id, before=before.end, limit=2)
    assert ([placed.position for placed in last.found], last.end, last.more) == ([3, 4], 3, True)
    assert ([placed.position for placed in before.found], before.end) == ([1], 1)
    assert (before.more, none.found, none.end, none.more) == (False, [], 0, False)

    for upto, expected in ((TEAM, [1, 3, 4]), (FINANCE, [1, 2, 3, 4]), (PUBLIC, [])):
        after = await doors.messages.after(admin, talk.id, after=0, limit=9, max_label=upto)
        before = await doors.messages.before(admin, talk.id, before=None, limit=9, max_label=upto)
        assert [placed.position for placed in after.found] == expected
        assert [placed.position for placed in before.found] == expected
        assert after.inside == before.inside == TEAM


async def test_a_thread_has_all_its_answers_in_the_same_conversation_and_no_less_secret(
    doors: Doors, admin: Principal, low: Principal, project: Project, talk: Conversation
) -> None:
    question = (await say(doors, admin, talk, "Who?")).message
    await say(doors, admin, talk, "By the way.")
    answer = await say(doors, low, talk, message=to(talk, "I.", reply_to=question.id))
    hidden = to(talk, "Not you.", reply_to=answer.message.id)
    hush = (await say(doors, admin, talk, message=hidden, label=FINANCE)).message
    await say(doors, admin, talk, message=to(talk, "Well.", reply_to=answer.message.id))

    for reader, expected in ((admin, ["I.", "Not you.", "Well."]), (low, ["I.", "Well."])):
        thread = await doors.messages.after(reader, talk.id, after=0, limit=9, thread=question.id)
        assert [placed.message.body for placed in thread.found] == expected
        assert {placed.message.thread for placed in thread.found} == {question.id}

    other = await a_conversation(doors, admin, project, "other")
    with pytest.raises(MessageNotFound):
        await say(doors, admin, other, message=to(other, "I.", reply_to=hush.id), label=FINANCE)
    with pytest.raises(WriteDown):
        await say(doors, admin, talk, message=to(talk, "So.", reply_to=hush.id))
    await say(doors, admin, talk, message=to(talk, "So.", reply_to=hush.id), label=FINANCE)


async def test_the_same_key_again_is_the_same_message(
    doors: Doors, admin: Principal, low: Principal, talk: Conversation
) -> None:
    wanted = to(talk, "Once.", key="k")

    first = await say(doors, low, talk, message=wanted, name="one")
    again = await say(doors, low, talk, message=wanted, name="two", minute=7)
    theirs = await say(doors, admin, talk, message=wanted, name="three")

    assert again == first
    assert theirs.position == 2
    with pytest.raises(KeyReused):
        await say(doors, low, talk, message=to(talk, "Twice.", key="k"))
    await doors.conversations.put(admin, replace(talk, archived_at=at(8)))
    assert await say(doors, low, talk, message=wanted, name="four") == first


async def test_a_key_is_looked_for_before_the_label_and_among_what_one_sees(
    doors: Doors, admin: Principal, talk: Conversation
) -> None:
    ana = await joined(doors, admin, "ana", SECRET)
    open_, hidden = to(talk, "Once.", key="k"), to(talk, "Hush.", key="h")
    first = await say(doors, ana, talk, message=open_, name="one")
    await say(doors, ana, talk, message=hidden, label=SECRET, name="two")
    await doors.contexts.raise_taint(ana, SECRET, untrusted=False)

    assert await say(doors, ana, talk, message=open_, name="three") == first
    with pytest.raises(WriteDown):
        await say(doors, ana, talk, message=to(talk, "Else.", key="e"), name="four")
    with pytest.raises(KeyReused) as refused:
        await say(doors, ana, talk, message=to(talk, "Else.", key="h"), name="five")
    assert refused.value.label == SECRET
    low = replace(ana, key="another", clearance=TEAM)
    new = await say(doors, low, talk, message=to(talk, "Else.", key="h"), name="six")
    assert new.message.body == "Else."
    assert await say(doors, low, talk, message=to(talk, "Else.", key="h"), name="seven") == new


async def test_a_key_that_several_use_at_once_is_used_once_also_in_two_places(
    doors: Doors, admin: Principal, project: Project, talk: Conversation
) -> None:
    talks = [talk, await a_conversation(doors, admin, project, "two")]
    wanted = [to(where, "Hello.", key="k") for where in talks]

    came = await asyncio.gather(
        *(
            say(doors, admin, where, name=f"{where.title} {number}", message=message)
            for number in range(4)
            for where, message in zip(talks, wanted, strict=True)
        ),
        return_exceptions=True,
    )

    refused = [each for each in came if isinstance(each, KeyReused)]
    sent = {each.message.id for each in came if not isinstance(each, BaseException)}
    assert (len(refused), len(sent)) == (4, 1)
    assert sorted([await doors.messages.end(admin, each.id) for each in talks]) == [0, 1]


async def test_nothing_is_sent_where_the_sender_sees_nothing_or_what_is_archived(
    doors: Doors, admin: Principal, low: Principal, project: Project, talk: Conversation
) -> None:
    other, lowest = await cleared_root(doors, "acme"), replace(low, clearance=PUBLIC)
    shut = await a_conversation(doors, admin, project, "shut", closed=True)
    left = await a_conversation(doors, admin, project, "left")
    nowhere = replace(talk, id=ConversationId(admin.id.value))

    for caller, where in ((other, talk), (lowest, talk), (low, shut), (admin, nowhere)):
        for refused in (
            say(doors, caller, where, label=TEAM),
            doors.messages.after(caller, where.id, after=0, limit=9),
            doors.messages.before(caller, where.id, before=None, limit=9),
            doors.messages.end(caller, where.id),
        ):
            with pytest.raises(ConversationNotFound):
                await refused

    await doors.conversations.put(admin, replace(talk, archived_at=at(2)))
    with pytest.raises(Archived):
        await say(doors, admin, talk)
    await doors.projects.put(admin, replace(project, archived_at=at(2)))
    with pytest.raises(Archived):
        await say(doors, admin, left)


async def test_the_store_itself_lets_nobody_write_down(
    doors: Doors, admin: Principal, talk: Conversation
) -> None:
    """Nor above their clearance, nor below the conversation."""
    ana = await joined(doors, admin, "ana", FINANCE)
    before = (await say(doors, ana, talk, "before")).message
    for label in (LAW, SECRET):
        with pytest.raises(AboveClearance):
            await say(doors, ana, talk, label=label)
    with pytest.raises(BelowContainer):
        await say(doors, ana, talk, label=PUBLIC)

    await doors.contexts.raise_taint(ana, FINANCE, untrusted=False)

    for refused in (
        say(doors, ana, talk, "after"),
        doors.messages.edit(ana, edited(before, "after"), at(5)),
        doors.messages.delete(ana, before.id, at(5)),
        doors.messages.acknowledge(ana, before.id, at(5)),
    ):
        with pytest.raises(WriteDown) as error:
            await refused
        assert (error.value.wanted, error.value.mark) == (TEAM, FINANCE)
    elsewhere = replace(ana, place="elsewhere")
    await say(doors, elsewhere, talk, "in another task")
    await say(doors, ana, talk, "as secret as it must be", label=FINANCE)
    assert len(await bodies(doors, ana, talk)) == 3


async def test_without_a_label_it_is_as_secret_as_it_has_to_be(
    doors: Doors, admin: Principal, talk: Conversation
) -> None:
    ana = await joined(doors, admin, "ana", SECRET)
    wanted = to(talk, "Hello.", key="k")

    first = await doors.messages.send(ana, wanted, Stamp(id=message_id("first"), at=at(1)))
    await doors.contexts.raise_taint(ana, FINANCE, untrusted=True)
    second = await doors.messages.send(
        ana, to(talk, "So."), Stamp(id=message_id("second"), at=at(2))
    )
    again = await doors.messages.send(ana, wanted, Stamp(id=message_id("third"), at=at(3)))

    assert (first.message.label, first.inside, first.message.untrusted) == (TEAM, TEAM, False)
    assert (second.message.label, second.inside) == (join([TEAM, FINANCE]), TEAM)
    assert second.message.untrusted
    assert (again.message, again.inside) == (first.message, TEAM)


async def test_nothing_is_said_in_a_task_that_is_over(
    doors: Doors, admin: Principal, talk: Conversation
) -> None:
    id_ = ContextId(UUID(int=7))
    task = OpenedContext(id=id_, principal=admin.id, name="task", opened_at=at(0))
    at_it = replace(admin, context=task.id)

    with pytest.raises(ContextNotFound):
        await say(doors, at_it, talk)
    await doors.contexts.open(admin, task)
    await say(doors, at_it, talk)
    await doors.contexts.close(admin, task.id, at(1))
    with pytest.raises(ContextNotFound):
        await say(doors, at_it, talk, name="again")


async def test_whoever_says_something_in_an_open_one_takes_part_from_then_on(
    doors: Doors, admin: Principal, talk: Conversation
) -> None:
    ana, bob, cat = [await joined(doors, admin, name, FINANCE) for name in ("ana", "bob", "cat")]
    await doors.contexts.raise_taint(bob, FINANCE, untrusted=False)

    await say(doors, ana, talk, "I am here.")
    await say(doors, bob, talk, "I am not.", label=FINANCE)
    await say(
        doors, cat, talk, "Nor I: it would be seen by those who cannot see this.", label=FINANCE
    )

    every = await doors.conversations.participants(admin, talk.id)
    assert {who.principal for who in every} == {admin.id, ana.id}


async def test_an_edit_by_its_sender_keeps_what_it_was_and_its_label_never_sinks(
    doors: Doors, admin: Principal, talk: Conversation
) -> None:
    ana = await joined(doors, admin, "ana", FINANCE)
    said = (await say(doors, ana, talk, "Frist.", label=FINANCE)).message

    with pytest.raises(NotTheirs):
        await doors.messages.edit(admin, edited(said, "Mine!"), at(4))
    with pytest.raises(WriteDown):
        await doors.messages.edit(ana, edited(said, "Mine.", TEAM), at(4))
    with pytest.raises(REFUSED):
        await doors.messages.edit(ana, edited(said, "Mine.", SECRET), at(4))
    assert (await doors.messages.get(admin, said.id)).message == said
    await doors.messages.edit(ana, edited(said, "First."), at(5))
    await doors.messages.edit(ana, edited(said, "The first."), at(6))

    now = await doors.messages.get(admin, said.id)
    assert now.message == replace(said, body="The first.", edited_at=at(6))
    versions = await doors.messages.versions(admin, said.id)
    assert [(its.number, its.body, its.label, its.by, its.at) for its in versions] == [
        (1, "Frist.", FINANCE, ana.id, at(5)),
        (2, "First.", FINANCE, ana.id, at(6)),
    ]


async def test_what_an_edit_makes_more_secret_is_gone_for_those_below(
    doors: Doors, admin: Principal, low: Principal, talk: Conversation
) -> None:
    said = (await say(doors, admin, talk, "Too much.")).message
    await doors.messages.acknowledge(low, said.id, at(2))

    await doors.messages.edit(admin, edited(said, "Too much.", FINANCE), at(5))

    assert await bodies(doors, low, talk) == []
    for refused in (doors.messages.get(low, said.id), doors.messages.versions(low, said.id)):
        with pytest.raises(MessageNotFound):
            await refused
    assert (await doors.messages.get(admin, said.id)).message.label == FINANCE
    assert [its.by for its in await doors.messages.acknowledged(admin, said.id)] == [low.id]


async def test_of_what_was_deleted_there_is_a_place_and_its_history(
    doors: Doors, admin: Principal, low: Principal, talk: Conversation
) -> None:
    ana = await joined(doors, admin, "ana")
    first, second = [
        (await say(doors, ana, talk, body)).message for body in ("Never mind.", "Nor this.")
    ]

    with pytest.raises(NotTheirs):
        await doors.messages.delete(low, first.id, at(5))
    await doors.messages.delete(ana, first.id, at(5))
    await doors.messages.delete(ana, first.id, at(6))
    await doors.messages.delete(admin, second.id, at(7), others=True)

    stretch = await doors.messages.after(low, talk.id, after=0, limit=9)
    told = [(its.message.body, its.message.deleted_at, its.position) for its in stretch.found]
    assert told == [("", at(5), 1), ("", at(7), 2)]
    [version] = await doors.messages.versions(low, second.id)
    assert (version.body, version.by) == ("Nor this.", admin.id)
    with pytest.raises(MessageNotFound):
        await doors.messages.edit(ana, edited(first, "Again."), at(8))


async def overdue(doors: Doors, caller: Principal, minute: int) -> list[str]:
    found = await doors.messages.overdue(caller, at(minute), 10)
    return [placed.message.body for placed in found]


async def test_what_is_owed_is_overdue_for_both_until_it_is_acknowledged_once(
    doors: Doors, admin: Principal, talk: Conversation
) -> None:
    ana, bob = [await joined(doors, admin, name) for name in ("ana", "bob")]
    both = to(talk, "Please.", addressed=(ana.id, bob.id), wanted=ReplyRequest(until=at(10)))
    whenever = to(talk, "Some day.", addressed=(ana.id,), wanted=ReplyRequest())
    hidden = to(talk, "Hush.", addressed=(ana.id,), wanted=ReplyRequest(until=at(10)))
    asked = (await say(doors, admin, talk, message=both)).message
    await say(doors, admin, talk, message=whenever)
    await say(doors, admin, talk, message=hidden, label=FINANCE, minute=2)

    assert await overdue(doors, ana, 9) == []
    assert await overdue(doors, ana, 11) == ["Please."]
    assert await overdue(doors, admin, 11) == ["Please.", "Hush."]

    for minute in (12, 13):
        await doors.messages.acknowledge(ana, asked.id, at(minute))
    assert await overdue(doors, ana, 13) == []
    assert await overdue(doors, bob, 13) == ["Please."]
    assert await overdue(doors, admin, 13) == ["Please.", "Hush."]

    await doors.messages.acknowledge(bob, asked.id, at(14))
    assert await overdue(doors, admin, 15) == ["Hush."]
    told = [(its.by, its.at) for its in await doors.messages.acknowledged(ana, asked.id)]
    assert told == [(ana.id, at(12)), (bob.id, at(14))]
