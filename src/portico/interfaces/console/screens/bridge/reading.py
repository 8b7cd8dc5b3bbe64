"""Read a conversation for a page: its end, what was before, and what came since, with nothing
missed and nothing twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.bridge.core.conversations import Conversation, Participant
from portico.bridge.core.errors import MessageNotFound
from portico.bridge.core.messages import Acknowledged, Message, MessageId
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.screens.bridge.company import Company, company_of
from portico.interfaces.console.screens.bridge.talk_rows import Reader, reader_of
from portico.kernel.ids import BadId
from portico.kernel.principal import Principal

_AT_ONCE: Final = 25
_CONFIRMED: Final = 12
"""Messages of a page of which it is looked up who has confirmed them: the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    messages: Sequence[Message]
    cursor: str | None = None
    """From which on there is what comes next; None where it was looked back."""
    back: str | None = None
    """To what was said before; None if there is nothing."""
    anew: bool = False
    """The cursor that was given is of another clearance: this one takes its place."""


async def ending(desk: Desk, its: Conversation) -> Stretch:
    """Its last messages. What is said between the two questions is in it, and once more after its
    cursor: `since` leaves that away."""
    use, caller = desk.house.bridge.talk, desk.caller
    end = await use.tail_cursor(caller, [its.id])
    back = await use.look_back(caller, its.id, limit=_AT_ONCE)
    return Stretch(messages=back.messages, cursor=end, back=back.cursor if back.more else None)


async def before(desk: Desk, its: Conversation, cursor: str | None) -> Stretch:
    """Raises `BadCursor`."""
    found = await desk.house.bridge.talk.look_back(
        desk.caller, its.id, before=cursor, limit=_AT_ONCE
    )
    return Stretch(messages=found.messages, back=found.cursor if found.more else None)


async def since(desk: Desk, its: Conversation, cursor: str | None, last: str | None) -> Stretch:
    """What came after the cursor, and after the `last` that is shown already. Nothing old: a cursor
    of another clearance begins anew, at the end. Raises `BadCursor`."""
    use = desk.house.bridge.talk
    found = await use.read_messages(desk.caller, [its.id], cursor=cursor, limit=_AT_ONCE)
    if found.reset or cursor is None:
        end = await use.tail_cursor(desk.caller, [its.id])
        return Stretch(messages=(), cursor=end, anew=True)
    shown = [place for place, each in enumerate(found.messages) if str(each.id) == last]
    fresh = found.messages[shown[0] + 1 :] if shown else found.messages
    return Stretch(messages=fresh, cursor=found.cursor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Who is there, as far as whoever looks may know of them."""

    caller: Principal
    company: Company | None
    people: Sequence[Participant]
    mine: Participant | None
    """How whoever looks takes part, if they do."""

    @property
    def reader(self) -> Reader:
        return reader_of(
            self.caller.id,
            self.company,
            self.people,
            writes=self.caller.may(Scope.BRIDGE_WRITE),
            manages=self.caller.may(Scope.BRIDGE_MANAGE),
        )


async def around(desk: Desk, its: Conversation) -> Around:
    caller = desk.caller
    found = await desk.house.bridge.talk.list_participants(caller, its.id)
    company = await company_of(desk)
    known = [each for each in found if company is None or each.principal in company]
    mine = next((each for each in found if each.principal == caller.id), None)
    return Around(caller=caller, company=company, people=known, mine=mine)


async def confirmed_of(
    desk: Desk, messages: Sequence[Message]
) -> Mapping[MessageId, Sequence[Acknowledged]]:
    """Who has said that they have it, of those that ask for it."""
    asking = [each for each in messages if each.acknowledge is not None][-_CONFIRMED:]
    use = desk.house.bridge.talk
    return {each.id: await use.list_acknowledged(desk.caller, each.id) for each in asking}


async def message_of(desk: Desk, its: Conversation, which: str) -> Message:
    """One of this conversation. Raises `MessageNotFound`."""
    try:
        found = await desk.house.bridge.talk.show_message(desk.caller, MessageId.parse(which))
    except BadId as error:
        raise MessageNotFound(which) from error
    if found.conversation != its.id:
        raise MessageNotFound(which)
    return found
