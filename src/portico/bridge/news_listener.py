"""One who listens, to one conversation or several: of each there is news, or there is none."""

import asyncio
from collections.abc import Sequence

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.news import News, resets
from portico.bridge.places import looking
from portico.guard.core.principals import Scope
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal


class Listener:
    def __init__(
        self, caller: Principal, conversations: Sequence[ConversationId], upto: Label | None
    ) -> None:
        self.caller = caller
        self.visible = looking(caller, upto).clearance
        self._upto = upto
        self._conversations = conversations
        self._news: dict[ConversationId, News] = {}
        self._stirred = asyncio.Event()

    def tell(self, conversation: ConversationId, label: Label) -> None:
        before = self._news.get(conversation, News(conversation, PUBLIC))
        if not before.reset:
            self._news[conversation] = News(conversation, join([before.label, label]))
        self._stirred.set()

    def lose(self, *conversations: ConversationId) -> None:
        """Nothing comes from there any more; of none that is named, from nowhere."""
        for news in resets(conversations or self._conversations):
            self._news[news.conversation] = news
        self._stirred.set()

    def still(self, now: Principal | None) -> bool:
        """Whether they see as much as when they came, being who they are now."""
        return (
            now is not None
            and now.may(Scope.BRIDGE_READ)
            and looking(now, self._upto).clearance == self.visible
        )

    async def heard(self) -> Sequence[News]:
        """What is new since one last asked; waits until something is."""
        await self._stirred.wait()
        self._stirred.clear()
        news, self._news = self._news, {}
        return [*news.values()]
