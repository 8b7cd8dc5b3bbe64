"""Find what was said: by its words, or by what it means."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.project import ProjectId
from portico.bridge.core.saying import flaws_of_limit
from portico.bridge.core.spelling import check_flaws, flaws_of_text
from portico.bridge.marks import Marks
from portico.bridge.places import at_place, looking
from portico.bridge.search_ports import Hit, Meaning, MessageSearch
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.errors import Flaw
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_MOST_LETTERS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchMessages:
    search: MessageSearch
    meaning: Meaning
    marks: Marks

    async def __call__(  # noqa: PLR0913 # where it is looked for, one by one
        self,
        caller: Principal,
        query: str,
        *,
        project: ProjectId | None = None,
        conversation: ConversationId | None = None,
        upto: Label | None = None,
        by_meaning: bool = False,
        limit: int = 20,
    ) -> Sequence[Hit]:
        """By words the newest first, by meaning the nearest. Raises `NotPermitted`,
        `BadBridgeInput`."""
        permit(caller, Scope.BRIDGE_READ)
        check_flaws(_flaws(query, limit))
        caller = looking(at_place(caller, conversation or project), upto)
        if by_meaning:
            [vector] = await self.meaning([query])
            hits = await self.search.by_meaning(
                caller,
                vector,
                project=project,
                conversation=conversation,
                upto=None,
                limit=limit,
            )
        else:
            hits = await self.search.by_words(
                caller, query, project=project, conversation=conversation, upto=None, limit=limit
            )
        await self.marks.read_messages(caller, [hit.message for hit in hits])
        return hits


def _flaws(query: str, limit: int) -> Iterator[Flaw]:
    yield from flaws_of_text("query", query, least=1, most=_MOST_LETTERS)
    yield from flaws_of_limit(limit)
