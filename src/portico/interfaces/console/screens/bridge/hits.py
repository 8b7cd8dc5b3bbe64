"""What was found among messages, as rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.search import Hit
from portico.interfaces.console.screens.bridge.lists import conversation_path, excerpt
from portico.kernel.label import Label

_EXCERPT: Final = 320


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRow:
    path: str
    where: str
    who: str
    sent_at: datetime
    text: str
    label: Label


def hit_rows(
    hits: Sequence[Hit], where: Mapping[ConversationId, Conversation], project: str | None = None
) -> tuple[HitRow, ...]:
    """Of `project` alone, if it is given; and none of a conversation that went away meanwhile."""
    rows = []
    for hit in hits:
        its, inside = hit.message, where.get(hit.message.conversation)
        if inside is None or (project and str(inside.project) != project):
            continue
        rows.append(
            HitRow(
                path=f"{conversation_path(inside)}/messages/{its.id}",
                where=inside.title,
                who=its.sender_name,
                sent_at=its.sent_at,
                text=excerpt(its.body, _EXCERPT),
                label=its.label,
            )
        )
    return tuple(rows)
