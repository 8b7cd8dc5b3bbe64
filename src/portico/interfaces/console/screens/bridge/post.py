"""What somebody has written and not yet said, and what they want said."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.messages import MOST_LETTERS, MessageId, NewMessage, Wanted
from portico.interfaces.console.forms import Form
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label

WITHIN: Final = {
    "": "no",
    "any": "yes",
    "hour": "within an hour",
    "day": "within a day",
    "week": "within a week",
}
"""By when it is to be confirmed."""
_TIMES: Final = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """As it stands in the form, whether it can be said or not."""

    body: str = ""
    label: str = ""
    reply: str | None = None
    to: tuple[str, ...] = ()
    within: str = ""


EMPTY: Final = Typed()


def typed_in(form: Form) -> Typed:
    fields = form.fields
    return Typed(
        body=fields.get("body", [""])[0][:MOST_LETTERS],
        label=fields.get("label", [""])[0],
        reply=fields.get("reply", [""])[0] or None,
        to=tuple(_ids(fields.get("to", []))),
        within=fields.get("within", [""])[0],
    )


def new_message(form: Form, conversation: ConversationId, now: datetime) -> NewMessage:
    """Raises `BadForm`, `BadLabel`, `BadId`."""
    label, reply = form.maybe("label", most=500), form.maybe("reply", most=100)
    within = form.maybe("within", most=10) or ""
    if within:
        form.one_of("within", [*WITHIN])
    until = now + _TIMES[within] if within in _TIMES else None
    return NewMessage(
        conversation=conversation,
        body=form.text("body", most=MOST_LETTERS),
        label=None if label is None else Label.parse(label),
        reply_to=None if reply is None else MessageId.parse(reply),
        addressed=tuple(PrincipalId.parse(each) for each in form.many("to")),
        acknowledge=Wanted(until=until) if within else None,
        key=form.once,
    )


def _ids(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if text.startswith("prn_")][:100]
