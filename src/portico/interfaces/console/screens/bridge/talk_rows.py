"""Messages as rows: who said what, for whom, and what whoever looks can do about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from markupsafe import Markup

from portico.bridge.core.conversations import Participant
from portico.bridge.core.messages import Acknowledged, Message, MessageId
from portico.interfaces.console.markdown import markdown
from portico.interfaces.console.screens.bridge.company import Company
from portico.interfaces.console.screens.bridge.lists import excerpt
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label

HUES: Final = 8
_MOST: Final = 18_000
"""Letters of drawn text in one part: what is beyond is shown as its beginning."""
_LONGEST: Final = 9_000
"""Of one message."""
_BEGINNING: Final = 280
_TOGETHER: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who looks, what they may do, and whom they know."""

    me: PrincipalId
    writes: bool
    manages: bool
    names: Mapping[PrincipalId, str] = field(default_factory=dict)
    kinds: Mapping[PrincipalId, str] = field(default_factory=dict)
    """`person` or `agent`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    id: str
    who: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    id: str
    who: str
    kind: str
    letter: str
    hue: int
    follows: bool
    """Of the same sender, soon after the one above it."""
    day: str
    """What stands above it where a day begins; else empty."""
    date: str
    first_unread: bool
    mine: bool
    sent_at: datetime
    edited_at: datetime | None
    deleted: bool
    label: Label
    text: Markup | None
    """Whole, drawn; None where only its beginning is shown."""
    beginning: str
    quote: Quote | None
    """What it answers, where that is on the same page."""
    answers: str | None
    """The id of what it answers, wherever that is."""
    thread: str
    to: tuple[str, ...]
    names_me: bool
    attachments: tuple[str, ...]
    wants_word: bool
    """That it has arrived."""
    due_at: datetime | None
    confirmed: tuple[str, ...]
    can_confirm: bool
    can_edit: bool
    can_delete: bool
    untrusted: bool


def reader_of(
    me: PrincipalId,
    company: Company | None,
    taking_part: Sequence[Participant] = (),
    *,
    writes: bool,
    manages: bool,
) -> Reader:
    """Names of those who take part are known to whoever sees the conversation."""
    names = {each.principal: each.name for each in taking_part}
    kinds: dict[PrincipalId, str] = {}
    for each in (company or {}).values():
        names[each.id] = each.name
        kinds[each.id] = str(each.kind)
    return Reader(me=me, writes=writes, manages=manages, names=names, kinds=kinds)


def message_rows(
    messages: Sequence[Message],
    reader: Reader,
    *,
    confirmed: Mapping[MessageId, Sequence[Acknowledged]] | None = None,
    unread: int = 0,
    day: str | None = None,
) -> tuple[MessageRow, ...]:
    """In their order. `unread`: so many of the last ones, as far as they are here; `day`: which
    has its line above them already."""
    drawn = _drawn(messages)
    known = {each.id: each for each in messages}
    marked = _first_unread(messages, unread, reader.me)
    rows: list[MessageRow] = []
    above: Message | None = None
    for each in messages:
        own = (confirmed or {}).get(each.id, ())
        row = _row(each, reader, above, known, drawn.get(each.id), own, marked == each.id)
        rows.append(replace(row, day="") if above is None and row.date == day else row)
        above = each
    return tuple(rows)


def _row(  # noqa: PLR0913, PLR0917 # all that one row is made of
    its: Message,
    reader: Reader,
    above: Message | None,
    known: Mapping[MessageId, Message],
    text: Markup | None,
    confirmed: Sequence[Acknowledged],
    first_unread: bool,
) -> MessageRow:
    deleted = its.deleted_at is not None
    new_day = above is None or above.sent_at.date() != its.sent_at.date()
    soon = above is not None and its.sent_at - above.sent_at < _TOGETHER
    same = above is not None and above.sender == its.sender and soon and its.reply_to is None
    mine, owed = its.sender == reader.me, reader.me in its.addressed
    said = reader.me in {each.by for each in confirmed}
    return MessageRow(
        id=str(its.id),
        who=its.sender_name,
        kind=reader.kinds.get(its.sender, ""),
        letter=(its.sender_name.strip()[:1] or "?").upper(),
        hue=its.sender.value.int % HUES,
        follows=same and not new_day and not first_unread,
        day=its.sent_at.strftime("%A, %-d %B %Y") if new_day else "",
        date=its.sent_at.date().isoformat(),
        first_unread=first_unread,
        mine=mine,
        sent_at=its.sent_at,
        edited_at=its.edited_at,
        deleted=deleted,
        label=its.label,
        text=text,
        beginning="" if text is not None else excerpt(its.body, _BEGINNING),
        quote=_quote(its, known),
        answers=None if its.reply_to is None else str(its.reply_to),
        thread=str(its.thread or its.id),
        to=tuple(reader.names[who] for who in its.addressed if who in reader.names),
        names_me=reader.me in (*its.mentions, *its.addressed),
        attachments=tuple(map(str, its.attachments)),
        wants_word=its.acknowledge is not None,
        due_at=None if its.acknowledge is None else its.acknowledge.until,
        confirmed=tuple(reader.names[each.by] for each in confirmed if each.by in reader.names),
        can_confirm=its.acknowledge is not None and owed and not said and reader.writes,
        can_edit=mine and reader.writes and not deleted,
        can_delete=(mine or reader.manages) and reader.writes and not deleted,
        untrusted=its.untrusted,
    )


def _quote(its: Message, known: Mapping[MessageId, Message]) -> Quote | None:
    answered = None if its.reply_to is None else known.get(its.reply_to)
    if answered is None:
        return None
    return Quote(id=str(answered.id), who=answered.sender_name, text=excerpt(answered.body, 90))


def _first_unread(messages: Sequence[Message], unread: int, me: PrincipalId) -> MessageId | None:
    """What oneself has said never was unread."""
    counted = [each for each in messages if each.deleted_at is None and each.sender != me]
    return counted[-unread].id if 0 < unread <= len(counted) else None


def _drawn(messages: Sequence[Message]) -> dict[MessageId, Markup]:
    """The newest first get room: they are what somebody came for."""
    found: dict[MessageId, Markup] = {}
    left = _MOST
    for each in reversed(messages):
        if len(each.body) > _LONGEST:
            continue
        text = markdown(each.body)
        if len(text) <= min(left, _LONGEST):
            found[each.id] = text
            left -= len(text)
    return found
