"""`portico bridge inbox`: what waits for you."""

from shlex import quote
from typing import Any, Final

from portico.interfaces.cli.agent_words import brief
from portico.interfaces.cli.bridge_names import short
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At

_COLUMNS: Final = ["conversation", "unread", "for_you", "label", "active"]
_OVERDUE: Final = ["message", "from", "by", "text"]
_SHORT: Final = 60


def inbox(*, upto: LabelOption = None, at: At) -> None:
    """What you have not read, in the conversations that you take part in; and what was to be
    acknowledged by now.

    Parameters
    ----------
    upto
        Nothing that is more secret than this.
    """
    found = Server(at.house).get("/inbox", upto=upto)
    rows = [
        {
            "conversation": each["conversation"]["title"],
            "unread": each["count"],
            "for_you": each["mentions"],
            "label": each["conversation"]["label"],
            "active": each["conversation"]["active_at"],
        }
        for each in found["unread"]
    ]
    at.table(_COLUMNS, rows, found)
    if found["overdue"] and not at.json:
        at.say("To be acknowledged, and overdue:")
        at.table(_OVERDUE, [_overdue(each) for each in found["overdue"]], found)
    if found["unread"]:
        first = quote(found["unread"][0]["conversation"]["title"])
        at.say(f"To read it: portico bridge read {first}")
    elif not found["overdue"]:
        at.say("Nothing is unread. What there is: portico bridge conversations list")


def _overdue(each: dict[str, Any]) -> dict[str, Any]:
    return {
        "message": short(each["id"]),
        "from": each["sender_name"],
        "by": (each["acknowledge"] or {}).get("until"),
        "text": brief(each["body"], _SHORT),
    }
