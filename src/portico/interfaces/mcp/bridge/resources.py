"""The bridge as resources: a project, what it remembers, the end of a conversation, a file."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.projects import ProjectId
from portico.interfaces.mcp.answers import Result
from portico.interfaces.mcp.bridge.addresses import OfMemory, address_of, uri_of
from portico.interfaces.mcp.bridge.facts import conversation_facts, memory_facts, messages_facts
from portico.interfaces.mcp.bridge.project_context import ProjectContext
from portico.interfaces.mcp.bridge.reading import Reading, as_text
from portico.interfaces.mcp.bridge.uses import BridgeUses
from portico.interfaces.mcp.told import Facts
from portico.kernel.json import canonical
from portico.kernel.principal import Principal

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
                return _json(uri, told.facts)
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
