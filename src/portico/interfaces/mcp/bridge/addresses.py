"""How what there is on the bridge is addressed: `portico://projects/prj_…` and what is below it."""

from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import quote, unquote

from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.projects import ProjectId
from portico.interfaces.mcp.bridge.errors import NoSuchResource

_SCHEME: Final = "portico://"


@dataclass(frozen=True, slots=True)
class OfMemory:
    project: ProjectId
    key: str


Address: TypeAlias = ProjectId | OfMemory | ConversationId | Digest


def address_of(uri: str) -> Address:
    """Raises `NoSuchResource`, `BadId`, `AttachmentNotFound` of what is no digest."""
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
            raise NoSuchResource(uri)


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
