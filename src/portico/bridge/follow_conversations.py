"""Hear at once that something was said; what it was is read then, from where one stood."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.news import News
from portico.bridge.core.saying import flaws_of_reading
from portico.bridge.core.spelling import check_flaws
from portico.bridge.marks import Marks
from portico.bridge.news import Bulletin
from portico.bridge.places import at_place, looking
from portico.bridge.ports import Conversations
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowConversations:
    conversations: Conversations
    bulletin: Bulletin
    marks: Marks

    async def __call__(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        *,
        upto: Label | None = None,
    ) -> AsyncGenerator[News, None]:
        """First one of each: whoever reads upon it has missed nothing. Then one whenever something
        is said that the caller may see. Of a conversation that they may not follow any more, the
        last one says so; with the last conversation it ends. Raises `NotPermitted`,
        `BadBridgeInput`, `ConversationNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        check_flaws(flaws_of_reading(conversations))
        left = set(conversations)
        async with self.bulletin.listening(caller, conversations, upto=upto) as listener:
            for each in conversations:
                yield await self._first(looking(at_place(caller, each), upto), each)
            while left:
                for news in await listener.heard():
                    if news.reset:
                        left.discard(news.conversation)
                    else:
                        here = at_place(caller, news.conversation)
                        await self.marks.read(here, [news.label])
                    yield news

    async def _first(self, caller: Principal, conversation: ConversationId) -> News:
        found = await self.conversations.get(caller, conversation)
        await self.marks.read(caller, [found.label])
        return News(conversation, found.label)
