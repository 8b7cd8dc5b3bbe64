"""Resources of the bridge: projects, conversations, memory and files, by address."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote

from portico.bridge.core.attachments import Attachment, Digest
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import InvalidBridgeInput
from portico.bridge.core.messages import Message, MessageId
from portico.bridge.core.projects import ProjectId
from portico.bridge.core.work_items import WorkItem, WorkItemStatus
from portico.bridge.taint import looking
from portico.interfaces.mcp.bridge.definitions import (
    BridgeUses,
    ParsedArguments,
    ResourceNotFound,
    TooLargeToTell,
)
from portico.interfaces.mcp.bridge.results import (
    attachment_facts,
    attachment_line,
    conversation_facts,
    conversation_line,
    lease_facts,
    lease_line,
    memory_facts,
    messages_facts,
    messages_words,
    presence_facts,
    presence_line,
    project_facts,
    project_line,
    work_facts,
    work_words,
)
from portico.interfaces.mcp.tool_values import Facts, Result, ToolOutput, lines, quoted
from portico.kernel.errors import FieldError
from portico.kernel.json import canonical
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_SCHEME: Final = "portico://"


@dataclass(frozen=True, slots=True)
class OfMemory:
    project: ProjectId
    key: str


Address: TypeAlias = ProjectId | OfMemory | ConversationId | Digest


def address_of(uri: str) -> Address:
    """Raises `ResourceNotFound`, `InvalidId`, `AttachmentNotFound` of what is no digest."""
    match uri.removeprefix(_SCHEME).split("/", 3) if uri.startswith(_SCHEME) else []:
        case ["projects", project]:
            return ProjectId.parse(project)
        case ["projects", project, "memory", key] if key:
            return OfMemory(ProjectId.parse(project), unquote(key))
        case ["conversations", conversation]:
            return ConversationId.parse(conversation)
        case ["attachments", digest]:
            return Digest.parse(digest)
        case _:
            raise ResourceNotFound(uri)


def uri_of(address: Address) -> str:
    match address:
        case ProjectId():
            return f"{_SCHEME}projects/{address}"
        case OfMemory(project, key):
            return f"{_SCHEME}projects/{project}/memory/{quote(key, safe='')}"
        case ConversationId():
            return f"{_SCHEME}conversations/{address}"
        case Digest():
            return f"{_SCHEME}attachments/{address}"


@dataclass(frozen=True, slots=True)
class ProjectContext:
    use: BridgeUses

    async def __call__(
        self, caller: Principal, which: str, *, upto: Label | None = None
    ) -> ToolOutput:
        """By its name or its id. Raises `PorticoError`."""
        talk, things = self.use.bridge.talk, self.use.bridge.things
        reader = looking(caller, upto)
        project = await talk.show_project(reader, which)
        talked = await talk.list_conversations(caller, project=project.id, upto=upto)
        conversations = [conversation_facts(each) for each in talked]
        work = [_short(each) for each in await self._work(reader, project.id)]
        keys = [each.key for each in await things.list_memory(reader, project.id)]
        held, _ = await things.list_leases(reader, project.id)
        leases = [lease_facts(each) for each in held]
        there = await things.list_presence(reader, project.id)
        people = [presence_facts(each) for each in there]
        about = project_facts(project)
        return ToolOutput(
            lines(
                project_line(about),
                quoted(project.description),
                _list("conversations", [conversation_line(each) for each in conversations]),
                _list("work", [work_words(each) for each in work]),
                _list("memory", keys),
                _list("leases", [lease_line(each) for each in leases]),
                _list("people", [presence_line(each) for each in people]),
            ),
            {
                "project": about,
                "conversations": conversations,
                "work": work,
                "memory": keys,
                "leases": leases,
                "people": people,
            },
        )

    async def _work(self, reader: Principal, project: ProjectId) -> Sequence[WorkItem]:
        list_work = self.use.bridge.things.list_work
        return [
            each
            for state in (WorkItemStatus.CLAIMED, WorkItemStatus.OPEN)
            for each in await list_work(reader, project, state=state)
        ]


def _short(work: WorkItem) -> Facts:
    """What is to be done, in full, is for whoever asks for this piece of work."""
    return {name: value for name, value in work_facts(work).items() if name != "body"}


def _list(of: str, each: Sequence[str]) -> str:
    return lines(f"{of}:", [quoted(one) for one in each]) if each else ""


LONGEST_WAIT: Final = 20
"""Seconds: clients give up after a minute, some after half of one."""
USUAL: Final = 20
_OF_THREAD: Final = 200
_LARGEST: Final = 1_000_000
"""Bytes of a file."""


@dataclass(frozen=True, slots=True)
class ConversationTail:
    """At the end of some conversations."""

    messages: Sequence[Message]
    cursor: str
    """For what comes from now on."""
    older: Facts
    """Where there is more before these: by conversation, what to go back with."""


@dataclass(frozen=True, slots=True)
class Reading:
    use: BridgeUses

    async def read(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        if "attachment" in given:
            return await self._attachment(caller, given)
        if (thread := given.message("thread")) is not None:
            return await self._thread(caller, thread, given)
        conversations = [ConversationId.parse(each) for each in given.texts("conversations")]
        if not conversations:
            raise InvalidBridgeInput(
                [FieldError("conversations", "is needed, or thread, or attachment")]
            )
        limit = given.number("limit") or USUAL
        if (before := given.text("before")) is not None:
            return await self._before(caller, conversations, before, limit, given.max_label)
        if (cursor := given.text("cursor")) is not None:
            return await self._since(caller, conversations, cursor, limit, given)
        look = await self.look(caller, conversations, limit=limit, max_label=given.max_label)
        if look.messages and not given.switch("peek"):
            await self._seen(caller, conversations, look.cursor, given.max_label)
        facts = {
            "messages": messages_facts(look.messages, caller.id),
            "cursor": look.cursor,
            "older": look.older,
        }
        older = [f"older in {each}: read with before {where}" for each, where in look.older.items()]
        return _told(look.messages, facts, len(conversations), older)

    async def look(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        *,
        limit: int = USUAL,
        max_label: Label | None = None,
    ) -> ConversationTail:
        """Raises `PorticoError`."""
        talk = self.use.bridge.talk
        # The cursor first: what is said in between is then told twice, and not never.
        cursor = await talk.tail_cursor(caller, conversations, upto=max_label)
        pages = {
            each: await talk.look_back(caller, each, limit=limit, upto=max_label)
            for each in conversations
        }
        return ConversationTail(
            messages=[message for page in pages.values() for message in page.messages],
            cursor=cursor,
            older={str(each): page.cursor for each, page in pages.items() if page.more},
        )

    async def _since(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        cursor: str,
        limit: int,
        given: ParsedArguments,
    ) -> ToolOutput:
        wait = min(max(given.number("wait") or 0, 0), LONGEST_WAIT)
        page = await self.use.bridge.talk.read_messages(
            caller,
            conversations,
            cursor=cursor,
            limit=limit,
            upto=given.max_label,
            wait=timedelta(seconds=wait) if wait else None,
        )
        if page.messages and not given.switch("peek"):
            await self._seen(caller, conversations, page.cursor, given.max_label)
        facts = {
            "messages": messages_facts(page.messages, caller.id),
            "cursor": page.cursor,
            "more": page.more,
            "reset": page.reset,
        }
        notes = [
            "What you may read has changed: this begins anew." if page.reset else "",
            "There is more: read on with the cursor." if page.more else "",
        ]
        return _told(page.messages, facts, len(conversations), notes)

    async def _before(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        before: str,
        limit: int,
        max_label: Label | None,
    ) -> ToolOutput:
        if len(conversations) != 1:
            raise InvalidBridgeInput([FieldError("conversations", "must be one, to go back in it")])
        page = await self.use.bridge.talk.look_back(
            caller, conversations[0], before=before, limit=limit, upto=max_label
        )
        facts = messages_facts(page.messages, caller.id)
        older = page.cursor if page.more else None
        note = f"older: read with before {older}" if older else "These are the first."
        return ToolOutput(
            lines(messages_words(facts), note),
            {"messages": facts, "more": page.more, **({"before": older} if older else {})},
        )

    async def _thread(
        self, caller: Principal, thread: MessageId, given: ParsedArguments
    ) -> ToolOutput:
        """Its cursor is the last message of it."""
        limit = given.number("limit") or _OF_THREAD
        found = await self.use.bridge.talk.read_thread(
            looking(caller, given.max_label), thread, after=given.message("cursor"), limit=limit
        )
        facts, more = messages_facts(found, caller.id), len(found) == limit
        last = {"cursor": str(found[-1].id)} if more else {}
        note = f"There may be more: read on with cursor {found[-1].id}" if more else ""
        return ToolOutput(
            lines(messages_words(facts), note), {"messages": facts, "more": more, **last}
        )

    async def _seen(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        cursor: str,
        max_label: Label | None,
    ) -> None:
        await self.use.bridge.talk.mark_read(caller, conversations, cursor, upto=max_label)

    async def _attachment(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        digest = Digest.parse(given.needed("attachment"))
        attachment, content = await self.file(looking(caller, given.max_label), digest)
        facts, text = attachment_facts(attachment), as_text(content)
        if text is None:
            encoded = base64.b64encode(content).decode()
            return ToolOutput(
                lines(attachment_line(facts), f"in base 64: {encoded}"),
                {**facts, "base64": encoded},
            )
        return ToolOutput(lines(attachment_line(facts), quoted(text)), {**facts, "text": text})

    async def file(self, caller: Principal, digest: Digest) -> tuple[Attachment, bytes]:
        """Raises `PorticoError`."""
        attachment, content = await self.use.bridge.things.fetch_attachment(caller, digest)
        if len(content) > _LARGEST:
            raise TooLargeToTell(str(digest), len(content))
        return attachment, content


def as_text(content: bytes) -> str | None:
    """None of what is none, whatever it is said to be."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _told(messages: Sequence[Message], facts: Facts, places: int, notes: list[str]) -> ToolOutput:
    told = facts["messages"]
    words = messages_words(told, where=places > 1) if messages else "Nothing new."
    return ToolOutput(lines(words, f"cursor: {facts['cursor']}", notes), facts)


_JSON: Final = "application/json"
_MOST: Final = 100
"""Of each kind in the list; the tools tell of more."""
TEMPLATES: Final[Sequence[Facts]] = [
    {
        "uriTemplate": f"portico://{path}",
        "name": name,
        "description": description,
        **({"mimeType": _JSON} if name != "attachment" else {}),
    }
    for path, name, description in (
        ("projects/{id}", "project", "A project: its conversations, work, memory keys, leases."),
        ("projects/{id}/memory/{key}", "memory", "What a project remembers under a key."),
        ("conversations/{id}", "conversation", "The last messages; subscribe to hear of new ones."),
        ("attachments/{digest}", "attachment", "A file that was attached to a message."),
    )
]


@dataclass(frozen=True, slots=True)
class BridgeResources:
    use: BridgeUses

    async def all(self, caller: Principal) -> Sequence[Facts]:
        """Those that are no more secret than what the caller has read: many clients list unasked,
        and whoever has not asked is not to be raised by it. Raises `NotPermitted`."""
        talk = self.use.bridge.talk
        read = (await talk.who_am_i(caller)).mark
        projects = await talk.list_projects(caller, limit=_MOST, upto=read)
        conversations = await talk.list_conversations(caller, limit=_MOST, upto=read)
        return [
            *(_listed(uri_of(each.id), each.name, each.description) for each in projects),
            *(_listed(uri_of(each.id), each.title) for each in conversations),
        ]

    async def read(self, caller: Principal, uri: str) -> Result:
        """Raises `PorticoError`."""
        match address_of(uri):
            case ProjectId() as project:
                told = await ProjectContext(self.use)(caller, str(project))
                return _json(uri, told.details)
            case OfMemory(project, key):
                recall = self.use.bridge.things.recall
                return _json(uri, memory_facts(await recall(caller, project, key)))
            case ConversationId() as conversation:
                return _json(uri, await self._conversation(caller, conversation))
            case Digest() as digest:
                return await self._file(caller, uri, digest)

    async def _conversation(self, caller: Principal, conversation: ConversationId) -> Facts:
        """Nothing of it counts as read by that: who has subscribed may have nobody who reads."""
        found = await self.use.bridge.talk.show_conversation(caller, conversation)
        look = await Reading(self.use).look(caller, [conversation])
        return {
            "conversation": conversation_facts(found),
            "messages": messages_facts(look.messages, caller.id),
            "cursor": look.cursor,
            "older": look.older,
        }

    async def _file(self, caller: Principal, uri: str, digest: Digest) -> Result:
        attachment, content = await Reading(self.use).file(caller, digest)
        text = as_text(content)
        inside = {"blob": base64.b64encode(content).decode()} if text is None else {"text": text}
        return {"contents": [{"uri": uri, "mimeType": attachment.media_type, **inside}]}


def _listed(uri: str, name: str, description: str = "") -> dict[str, Any]:
    told = {"description": description} if description else {}
    return {"uri": uri, "name": name, **told, "mimeType": _JSON}


def _json(uri: str, facts: Facts) -> Result:
    return {"contents": [{"uri": uri, "mimeType": _JSON, "text": canonical(facts).decode()}]}
