"""What customers of the shop wrote: tickets that can be listed, read, answered and deleted."""

from collections.abc import Mapping
from typing import Any, Final

from portico.samples.tool import TEXT, Tool, described, list_of

_TICKETS: Final[dict[str, dict[str, Any]]] = {
    "T-1101": {
        "status": "open",
        "customer": "Ines",
        "subject": "The brake squeals",
        "order": "O-2501",
        "text": "Since the rain the front brake squeals. I have had the bicycle for two weeks.",
    },
    "T-1102": {
        "status": "open",
        "customer": "Tomas",
        "subject": "Parcel never came",
        "order": "O-2502",
        "text": "Tracking has said the same for nine days. I would rather have my money back.",
    },
    "T-1103": {
        "status": "open",
        "customer": "Ruth",
        "subject": "Lamp gets hot",
        "order": "O-2503",
        "text": "My Ember lamp, number 3127, is too hot to touch after an hour.",
    },
    "T-1104": {
        "status": "closed",
        "customer": "Ines",
        "subject": "Which tyres fit?",
        "order": "O-2501",
        "text": "Do 42 mm tyres fit under the mudguards?",
    },
}
_ID: Final = described(TEXT, "As list_tickets gives it, T-1101.")
_LISTED: Final = ("status", "customer", "subject")


def list_tickets(status: str = "open") -> Mapping[str, Any]:
    found = [
        {"id": key, **{name: ticket[name] for name in _LISTED}}
        for key, ticket in _TICKETS.items()
        if status in (ticket["status"], "all")
    ]
    return {"tickets": found}


def read_ticket(id: str) -> Mapping[str, Any]:  # noqa: A002 # what the tool calls it
    return {"id": id, "answers": [], **_ticket(id)}


def answer_ticket(id: str, text: str) -> Mapping[str, Any]:  # noqa: A002 # likewise
    ticket = _ticket(id)
    ticket["answers"] = [*ticket.get("answers", []), text]
    return {"id": id, "answers": len(ticket["answers"])}


def delete_ticket(id: str) -> Mapping[str, Any]:  # noqa: A002 # likewise
    subject = _ticket(id)["subject"]
    del _TICKETS[id]
    return {"deleted": subject}


def _ticket(key: str) -> dict[str, Any]:
    if key not in _TICKETS:
        raise LookupError(f"There is no ticket {key!r}; list_tickets shows them.")
    return _TICKETS[key]


TOOLS: Final = (
    Tool(
        name="list_tickets",
        does="List the tickets of customers.",
        takes={
            "status": {
                "type": "string",
                "enum": ["open", "closed", "all"],
                "default": "open",
                "description": "Which ones.",
            }
        },
        optional=("status",),
        gives={"tickets": list_of({"id": TEXT, "status": TEXT, "customer": TEXT, "subject": TEXT})},
        run=list_tickets,
    ),
    Tool(
        name="read_ticket",
        does="Read one ticket, with the order that it is about.",
        takes={"id": _ID},
        gives={
            "id": TEXT,
            "status": TEXT,
            "customer": TEXT,
            "subject": TEXT,
            "order": described(TEXT, "For read_order."),
            "text": TEXT,
            "answers": {"type": "array", "items": dict(TEXT)},
        },
        run=read_ticket,
    ),
    Tool(
        name="answer_ticket",
        does="Write an answer below a ticket.",
        takes={"id": _ID, "text": TEXT},
        gives={"id": TEXT, "answers": described({"type": "integer"}, "How many it has now.")},
        run=answer_ticket,
        reads=False,
    ),
    Tool(
        name="delete_ticket",
        does="Delete a ticket and its answers for good.",
        takes={"id": _ID},
        gives={"deleted": TEXT},
        run=delete_ticket,
        reads=False,
        destroys=True,
    ),
)
