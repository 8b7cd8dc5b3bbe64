"""The tools of the bridge, carried out: conversations, messages, memory, leases, work items."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.errors import InvalidBridgeInput
from portico.bridge.core.leases import USUAL, LeaseId, LeaseSpec
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.messages import MessageId, NewMessage, ReplyRequest, Sent
from portico.bridge.core.presence import PresenceStatus
from portico.bridge.core.projects import Project
from portico.bridge.core.work_items import (
    NewWorkItem,
    WorkEnded,
    WorkItem,
    WorkItemId,
    WorkItemStatus,
)
from portico.bridge.taint import looking
from portico.interfaces.mcp.bridge.definitions import (
    BY_NAME,
    BridgeToolNotFound,
    BridgeUses,
    ParsedArguments,
)
from portico.interfaces.mcp.bridge.resources import ProjectContext, Reading
from portico.interfaces.mcp.bridge.results import (
    RAISED,
    attachment_facts,
    attachment_line,
    conversation_facts,
    conversation_line,
    inbox_facts,
    inbox_words,
    lease_facts,
    lease_line,
    memory_facts,
    memory_words,
    message_facts,
    message_words,
    messages_facts,
    messages_words,
    participant_facts,
    project_facts,
    project_line,
    self_facts,
    self_words,
    waiting_facts,
    waiting_line,
    work_facts,
    work_words,
)
from portico.interfaces.mcp.tool_values import Result, ToolOutput, lines
from portico.kernel.errors import FieldError
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Places:
    use: BridgeUses

    async def projects(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        if (which := given.text("project")) is not None:
            return await ProjectContext(self.use)(caller, which, upto=given.max_label)
        found = await self.use.bridge.talk.list_projects(
            caller, after=given.text("after"), upto=given.max_label
        )
        facts = [project_facts(project) for project in found]
        text = lines(map(project_line, facts)) or "There is no project that you can see."
        return ToolOutput(text, {"projects": facts})

    async def project_set(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        if (which := given.text("project")) is None:
            return await self._made(caller, given)
        _check_unchangeable(given, "label")
        project = await self.use.bridge.talk.show_project(caller, which)
        changes = {field: given.text(field) for field in ("name", "description") if field in given}
        if changes or "archived" in given:
            project = await self.use.bridge.talk.change_project(
                caller,
                project.id,
                name=changes.get("name"),
                description=changes.get("description"),
                archived=given.switch("archived"),
            )
        await self._presence(caller, project, given)
        return _project(project)

    async def _made(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        _check_unchangeable(given, "archived")
        project = await self.use.bridge.talk.create_project(
            caller,
            given.needed("name", "is needed to make a project, or `project` to change one"),
            given.text("description") or "",
            given.label(),
        )
        await self._presence(caller, project, given)
        return _project(project, raised="label" not in given and project.label != PUBLIC)

    async def _presence(self, caller: Principal, project: Project, given: ParsedArguments) -> None:
        if (doing := given.text("doing")) is not None:
            note = given.text("note") or ""
            await self.use.bridge.things.say_presence(
                caller, project.id, PresenceStatus(doing), note
            )
        elif "note" in given:
            raise InvalidBridgeInput([FieldError("doing", "is needed with a note")])

    async def conversations(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        talk = self.use.bridge.talk
        if "conversation" in given:
            return await self._conversation(caller, given.conversation())
        project = None
        if (which := given.text("project")) is not None:
            project = (await talk.show_project(looking(caller, given.max_label), which)).id
        found = await talk.list_conversations(
            caller, project=project, after=given.text("after"), upto=given.max_label
        )
        facts = [conversation_facts(conversation) for conversation in found]
        text = lines(map(conversation_line, facts)) or "There is no conversation that you can see."
        return ToolOutput(text, {"conversations": facts})

    async def _conversation(self, caller: Principal, conversation: ConversationId) -> ToolOutput:
        talk = self.use.bridge.talk
        facts = conversation_facts(await talk.show_conversation(caller, conversation))
        taking_part = await talk.list_participants(caller, conversation)
        names = ", ".join(each.name for each in taking_part) or "nobody"
        return ToolOutput(
            lines(conversation_line(facts), f"taking part: {names}"),
            {**facts, "participants": [participant_facts(each) for each in taking_part]},
        )

    async def conversation_set(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        if "conversation" not in given:
            return await self._begun(caller, given)
        _check_unchangeable(given, "project", "label", "closed")
        conversation = given.conversation()
        talk, people = self.use.bridge.talk, self.use.bridge.talk.name_people
        added = await people(caller, given.texts("add"))
        removed = await people(caller, given.texts("remove"))
        if "title" in given or "archived" in given:
            await talk.change_conversation(
                caller,
                conversation,
                title=given.text("title"),
                archived=given.switch("archived"),
            )
        for who in added:
            await talk.join(caller, conversation, who)
        if (muted := given.switch("muted")) is not None:
            await talk.mute(caller, conversation, muted=muted)
        for who in removed:
            await talk.leave(caller, conversation, who)
        if caller.id in removed:  # who has left a closed one does not see it any more
            return ToolOutput(f"You have left {conversation}.", {"id": str(conversation)})
        return await self._conversation(caller, conversation)

    async def _begun(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        _check_unchangeable(given, "archived", "remove", "muted")
        talk = self.use.bridge.talk
        why = "is needed to begin a conversation, or `conversation` to change one"
        project = await talk.show_project(caller, given.needed("project", why))
        made = await talk.create_conversation(
            caller,
            project.id,
            given.needed("title", why),
            label=given.label(),
            closed=given.switch("closed") or False,
            participants=await self.use.bridge.talk.name_people(caller, given.texts("add")),
        )
        return _conversation(made, raised="label" not in given and made.label != project.label)


def _project(project: Project, *, raised: bool = False) -> ToolOutput:
    facts = project_facts(project)
    return ToolOutput(
        lines(project_line(facts), RAISED if raised else ""), {**facts, "raised": raised}
    )


def _conversation(conversation: Conversation, *, raised: bool) -> ToolOutput:
    facts = conversation_facts(conversation)
    text = lines(conversation_line(facts), RAISED if raised else "")
    return ToolOutput(text, {**facts, "raised": raised})


def _check_unchangeable(given: ParsedArguments, *fields: str) -> None:
    """Raises `InvalidBridgeInput`."""
    if wrong := [FieldError(field, "cannot be said here") for field in fields if field in given]:
        raise InvalidBridgeInput(wrong)


@dataclass(frozen=True, slots=True)
class ConversationTools:
    use: BridgeUses

    async def whoami(self, caller: Principal, _given: ParsedArguments) -> ToolOutput:
        facts = self_facts(await self.use.bridge.talk.who_am_i(caller))
        return ToolOutput(self_words(facts), facts)

    async def inbox(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        inbox = await self.use.bridge.talk.show_inbox(caller, upto=given.max_label)
        facts = inbox_facts(inbox, caller.id)
        return ToolOutput(inbox_words(facts), facts)

    async def send(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        talk = self.use.bridge.talk
        answers = given.message("reply_to")
        message = await self._message(caller, given, answers)
        if given.switch("ack"):
            if answers is None:
                raise InvalidBridgeInput(
                    [FieldError("reply_to", "is needed: what you acknowledge")]
                )
            await talk.acknowledge(caller, answers)
            if not message.body and not message.attachments:
                return ToolOutput(f"{answers} is acknowledged.", {"acknowledged": str(answers)})
        return _sent(await talk.send_message(caller, message))

    async def _message(
        self, caller: Principal, given: ParsedArguments, answers: MessageId | None
    ) -> NewMessage:
        within = given.seconds("ack_within")
        until = None if within is None else self.use.clock.now() + within
        return NewMessage(
            conversation=given.conversation(),
            body=given.text("body") or "",
            label=given.label(),
            reply_to=answers,
            mentions=await self.use.bridge.talk.name_people(caller, given.texts("mentions")),
            addressed=await self.use.bridge.talk.name_people(caller, given.texts("to")),
            attachments=given.digests(),
            acknowledge=None if until is None else ReplyRequest(until=until),
            key=given.text("key"),
        )

    async def search(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        talk = self.use.bridge.talk
        project = None
        if (which := given.text("project")) is not None:
            project = (await talk.show_project(looking(caller, given.max_label), which)).id
        hits = await talk.search_messages(
            caller,
            given.needed("query"),
            project=project,
            conversation=given.conversation() if "conversation" in given else None,
            by_meaning=given.switch("by_meaning") or False,
            limit=given.number("limit") or 20,
            upto=given.max_label,
        )
        facts = messages_facts([hit.message for hit in hits], caller.id)
        text = messages_words(facts, where=True) or "Nothing was found."
        return ToolOutput(text, {"messages": facts})

    async def change(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        talk = self.use.bridge.talk
        message = MessageId.parse(given.needed("message"))
        wanted = [field for field in ("body", "delete", "lower_to") if given.value(field)]
        if len(wanted) != 1:
            raise InvalidBridgeInput(
                [FieldError("body", "or delete or lower_to is needed, and one alone")]
            )
        if (lower_to := given.label("lower_to")) is not None:
            return await self._lowered(caller, message, lower_to)
        if given.switch("delete"):
            await talk.delete_message(caller, message)
            return ToolOutput(f"{message} is deleted.", {"deleted": str(message)})
        changed = await talk.edit_message(caller, message, given.needed("body"))
        facts = message_facts(changed, caller.id)
        return ToolOutput(message_words(facts), facts)

    async def _lowered(self, caller: Principal, message: MessageId, to: Label) -> ToolOutput:
        """Nothing has happened yet."""
        letting_out = self.use.bridge.letting_out
        asked = await letting_out.propose_declassification(caller, message, to)
        return ToolOutput(
            f"A person has been asked whether {message} may be read as {to} ({asked.approval}); "
            "if they say yes, a copy of it is sent without what was found in it that must not be.",
            {
                "approval": str(asked.approval),
                "from": str(asked.before),
                "to": str(asked.after),
                "text": asked.redacted.text,
            },
        )


def _sent(sent: Sent) -> ToolOutput:
    message = sent.message
    how = "was sent before, with the same key" if sent.replayed else "is sent"
    absent = [str(who) for who in sent.absent]
    away = f"Not told, since they take no part: {', '.join(absent)}." if absent else ""
    return ToolOutput(
        lines(f"{message.id} {how} as {message.label}.", RAISED if sent.raised else "", away),
        {
            "id": str(message.id),
            "label": str(message.label),
            "raised": sent.raised,
            "replayed": sent.replayed,
            "absent": absent,
        },
    )


@dataclass(frozen=True, slots=True)
class MemoryTools:
    use: BridgeUses

    async def memory_get(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        things, reader = self.use.bridge.things, looking(caller, given.max_label)
        project, key = await self._project(reader, given), given.needed("key")
        if given.switch("history"):
            versions = await things.memory_history(reader, project.id, key)
            history = [memory_facts(each) for each in versions]
            text = lines(map(memory_words, history)) or "It was never there."
            return ToolOutput(text, {"versions": history})
        facts = memory_facts(await things.recall(reader, project.id, key))
        return ToolOutput(memory_words(facts), facts)

    async def memory_set(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        things = self.use.bridge.things
        project, key = await self._project(caller, given), given.needed("key")
        if given.switch("forget"):
            if "value" in given:
                raise InvalidBridgeInput(
                    [FieldError("value", "cannot be remembered and forgotten")]
                )
            await things.forget(caller, project.id, key, given.label())
            return ToolOutput(f"{key!r} is forgotten.", {"forgotten": key})
        if "value" not in given:
            raise InvalidBridgeInput([FieldError("value", "is needed, or forget")])
        lasts = given.seconds("expires_in")
        wanted = ToRemember(
            project=project.id,
            key=key,
            value=given.value("value"),
            label=given.label(),
            version=given.number("version"),
            expires_at=None if lasts is None else self.use.clock.now() + lasts,
        )
        kept = await things.remember(caller, wanted)
        raised = wanted.label is None and kept.label != project.label
        return ToolOutput(
            lines(
                f"{key!r} is remembered as {kept.label}, version {kept.version}.",
                RAISED if raised else "",
            ),
            {"key": key, "label": str(kept.label), "version": kept.version, "raised": raised},
        )

    async def memory_find(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        things, reader = self.use.bridge.things, looking(caller, given.max_label)
        project = await self._project(reader, given)
        if (words := given.text("words")) is not None:
            found = await things.search_memory(reader, project.id, words)
        else:
            found = await things.list_memory(
                reader, project.id, prefix=given.text("prefix") or "", after=given.text("after")
            )
        facts = [memory_facts(each) for each in found]
        return ToolOutput(lines(map(memory_words, facts)) or "Nothing was found.", {"found": facts})

    async def attach(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        project = await self._project(caller, given)
        usual = "text/plain" if "text" in given else "application/octet-stream"
        kept = await self.use.bridge.things.attach(
            caller,
            project.id,
            given.needed("name"),
            given.text("media_type") or usual,
            given.content(),
            given.label(),
        )
        facts = attachment_facts(kept)
        raised = "label" not in given and kept.label != project.label
        text = lines(attachment_line(facts), RAISED if raised else "")
        return ToolOutput(text, {**facts, "raised": raised})

    async def _project(self, caller: Principal, given: ParsedArguments) -> Project:
        return await self.use.bridge.talk.show_project(caller, given.needed("project"))


_Do = Callable[[Principal, ParsedArguments], Awaitable[ToolOutput]]


@dataclass(frozen=True, slots=True)
class LeaseTool:
    use: BridgeUses

    async def lease(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        ways: Mapping[str, _Do] = {
            "take": self._take,
            "renew": self._renew,
            "release": self._release,
            "check": self._check,
            "list": self._list,
        }
        return await ways[given.needed("do")](caller, given)

    async def _take(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        wish = LeaseSpec(
            project=(await _project_given(self.use, caller, given)).id,
            resource=given.needed("resource"),
            lasts=given.seconds("seconds") or USUAL,
            purpose=given.text("purpose") or "",
            wait=given.switch("queue") or False,
        )
        facts = lease_facts(await self.use.bridge.things.take_lease(caller, wish))
        return ToolOutput(f"Yours: {lease_line(facts)}", facts)

    async def _renew(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        lease, lasts = LeaseId.parse(given.needed("lease")), given.seconds("seconds") or USUAL
        renewed = await self.use.bridge.things.renew_lease(caller, lease, given.token(), for_=lasts)
        facts = lease_facts(renewed)
        return ToolOutput(f"Still yours: {lease_line(facts)}", facts)

    async def _release(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        lease = LeaseId.parse(given.needed("lease"))
        await self.use.bridge.things.release_lease(caller, lease, given.token())
        return ToolOutput(f"{lease} is released.", {"released": str(lease)})

    async def _check(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        project = await _project_given(self.use, caller, given)
        held = await self.use.bridge.things.check_lease(
            caller, project.id, given.needed("resource"), given.token()
        )
        facts = lease_facts(held)
        return ToolOutput(f"It holds: {lease_line(facts)}", facts)

    async def _list(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        project = await _project_given(self.use, caller, given)
        held, queue = await self.use.bridge.things.list_leases(caller, project.id)
        leases = [lease_facts(each) for each in held]
        waiting = [waiting_facts(each) for each in queue]
        return ToolOutput(
            lines(map(lease_line, leases), map(waiting_line, waiting)) or "Nobody holds anything.",
            {"leases": leases, "waiting": waiting},
        )


@dataclass(frozen=True, slots=True)
class TaskTool:
    use: BridgeUses

    async def task(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        ways: Mapping[str, _Do] = {
            "add": self._add,
            "list": self._list,
            "show": self._show,
            "claim": self._claim,
            "hand_over": self._hand_over,
            "done": self._end,
            "drop": self._end,
        }
        return await ways[given.needed("do")](caller, given)

    async def _add(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        project = await _project_given(self.use, caller, given)
        wanted = NewWorkItem(
            project=project.id,
            title=given.needed("title"),
            body=given.text("body") or "",
            label=given.label(),
            depends=tuple(map(WorkItemId.parse, given.texts("depends"))),
            key=given.text("key"),
        )
        added = await self.use.bridge.things.add_work(caller, wanted)
        return _told(added, raised=wanted.label is None and added.label != project.label)

    async def _list(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        found = await self.use.bridge.things.list_work(
            caller,
            (await _project_given(self.use, caller, given)).id,
            state=_state(given),
            after=given.text("after"),
        )
        facts = [work_facts(each) for each in found]
        return ToolOutput(lines(map(work_words, facts)) or "There is no work.", {"work": facts})

    async def _show(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        return _told(await self.use.bridge.things.show_work(caller, _work(given)))

    async def _claim(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        return _told(await self.use.bridge.things.claim_work(caller, _work(given)))

    async def _hand_over(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        to = await self.use.bridge.talk.name_people(caller, [*filter(None, [given.text("to")])])
        handed = await self.use.bridge.things.hand_over_work(
            caller, _work(given), given.token(), to[0] if to else None
        )
        return _told(handed)

    async def _end(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        done = given.text("do") == "done"
        ended = WorkEnded(
            work=_work(given),
            token=given.token(),
            state=WorkItemStatus.DONE if done else WorkItemStatus.DROPPED,
            outcome=given.text("outcome") or "",
        )
        return _told(await self.use.bridge.things.end_work(caller, ended))


async def _project_given(use: BridgeUses, caller: Principal, given: ParsedArguments) -> Project:
    return await use.bridge.talk.show_project(caller, given.needed("project"))


def _work(given: ParsedArguments) -> WorkItemId:
    return WorkItemId.parse(given.needed("task"))


def _state(given: ParsedArguments) -> WorkItemStatus | None:
    found = given.text("state")
    if found is not None and found not in set(WorkItemStatus):
        raise InvalidBridgeInput(
            [FieldError("state", f"must be one of {', '.join(WorkItemStatus)}")]
        )
    return None if found is None else WorkItemStatus(found)


def _told(work: WorkItem, *, raised: bool = False) -> ToolOutput:
    facts = work_facts(work)
    text = lines(work_words(facts), RAISED if raised else "")
    return ToolOutput(text, {**facts, "raised": raised})


Call = Callable[[Principal, ParsedArguments], Awaitable[ToolOutput]]


class BridgeCalls:
    def __init__(self, use: BridgeUses) -> None:
        places, talk, memory = Places(use), ConversationTools(use), MemoryTools(use)
        self._by_name: Final[Mapping[str, Call]] = {
            "whoami": talk.whoami,
            "projects": places.projects,
            "project_set": places.project_set,
            "conversations": places.conversations,
            "conversation_set": places.conversation_set,
            "send": talk.send,
            "read": Reading(use).read,
            "inbox": talk.inbox,
            "search": talk.search,
            "change": talk.change,
            "memory_get": memory.memory_get,
            "memory_set": memory.memory_set,
            "memory_find": memory.memory_find,
            "lease": LeaseTool(use).lease,
            "task": TaskTool(use).task,
            "attach": memory.attach,
        }

    async def __call__(self, caller: Principal, name: str, given: JsonObject) -> Result:
        """Raises `PorticoError`."""
        if name not in self._by_name:
            raise BridgeToolNotFound(name)
        told = await self._by_name[name](caller, ParsedArguments.read(BY_NAME[name], given))
        return told.as_result()
