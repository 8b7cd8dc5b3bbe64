"""What the demo tells: the office of a made-up bicycle shop, with three tickets on its desk."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

SPACE: Final = "demo"
AGENT: Final = "demo-agent"
"""Who works there: a program with a key of its own, whose calls have to be allowed."""
WORKFLOW: Final = "demo-triage"
PROJECT: Final = "Demo shop"
CLERK: Final = "demo-clerk"
"""An agent with a model; only where there is one."""

Json = Mapping[str, Any]


def _from(path: str) -> Json:
    return {"$from": path}


TRIAGE: Final[Json] = {
    "name": WORKFLOW,
    "description": "Demo: read every open ticket of the sample shop with its order, and write a "
    "note of what is open.",
    "output": {"$text": "${open.json.tickets | length(@)} open, see the note ${note.json.id}"},
    "steps": [
        {"id": "open", "tool": "demo-tickets.list_tickets", "arguments": {"status": "open"}},
        {
            "id": "ticket",
            "tool": "demo-tickets.read_ticket",
            "for_each": {"in": _from("open.json.tickets[].id")},
            "arguments": {"id": _from("item")},
        },
        {
            "id": "order",
            "tool": "demo-orders.read_order",
            "for_each": {"in": _from("ticket.items[].json.order")},
            "arguments": {"id": _from("item")},
        },
        {"id": "rules", "tool": "demo-notes.read_note", "arguments": {"id": "refunds"}},
        {
            "id": "note",
            "tool": "demo-notes.write_note",
            "arguments": {
                "title": "Open today",
                "text": {
                    "$text": "Subjects: ${ticket.items[].json.subject}. Bought: "
                    "${order.items[].json.item}. ${rules.json.title}: ${rules.json.text}"
                },
            },
        },
    ],
}
FAILING: Final[Json] = {
    "name": "demo-fails",
    "description": "Demo: a step asks for an order that is not there.",
    "steps": [
        {"id": "ticket", "tool": "demo-tickets.read_ticket", "arguments": {"id": "T-1104"}},
        {"id": "order", "tool": "demo-orders.read_order", "arguments": {"id": "O-9999"}},
        {
            "id": "answer",
            "tool": "demo-tickets.answer_ticket",
            "arguments": {"id": "T-1104", "text": {"$text": "You bought ${order.json.item}."}},
        },
    ],
}
REFUND: Final[Json] = {
    "name": "demo-refund",
    "description": "Demo: pay back an order whose parcel is lost; that has to be allowed.",
    "steps": [
        {"id": "ticket", "tool": "demo-tickets.read_ticket", "arguments": {"id": "T-1102"}},
        {
            "id": "order",
            "tool": "demo-orders.read_order",
            "arguments": {"id": _from("ticket.json.order")},
        },
        {"id": "rules", "tool": "demo-notes.read_note", "arguments": {"id": "deliveries"}},
        {
            "id": "refund",
            "tool": "demo-orders.refund_order",
            "arguments": {
                "id": _from("order.json.id"),
                "amount": _from("order.json.price"),
                "reason": "The parcel has not moved for nine days.",
            },
            "after": ["rules"],
        },
        {
            "id": "answer",
            "tool": "demo-tickets.answer_ticket",
            "arguments": {
                "id": "T-1102",
                "text": {"$text": "We have paid back ${refund.json.refunded}."},
            },
        },
    ],
}
LOOKED_UP: Final = ("T-1101", "T-1102", "T-1103", "T-1104")
"""Tickets that the agent looked into one by one, so that there is something to learn from."""

_LOST: Final = (
    "After 7 days it counts as lost. Tomas wants his money back rather than another parcel: "
    "124.50. I have asked to be allowed to pay it back."
)
TALKS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "Demo: the lost parcel": [
        ("agent", "Ticket T-1102: the parcel of **O-2502** has not moved for nine days."),
        ("person", "What does the handbook say?"),
        ("agent", _LOST),
        ("person", "I will look at it in the approvals."),
    ],
    "Demo: hot lamps": [
        (
            "agent",
            "T-1103: an Ember lamp, number 3127, gets hot. The recall is for all below 4000.",
        ),
        ("person", "Then Ruth gets a new one, whatever its age."),
    ],
}
MEMORY: Final[Mapping[str, Any]] = {
    "demo/refund-limit": {"amount": 200, "above": "ask the owner"},
    "demo/carrier": "Parcels that do not move for 7 days count as lost.",
    "demo/tone": "Short answers, first names, no excuses.",
}
WORK: Final = ("Demo: send Ruth a new lamp", "Demo: ask the carrier about O-2502")

DEBATE: Final[Json] = {
    "question": "Demo: a squealing brake after two weeks: what do we offer first?",
    "choices": ["Adjust it in the workshop", "Send new brake pads", "Refund the bicycle"],
    "voices": ["none"],
    "guests": 3,
    "preset": "vote",
    "deadline_seconds": 120,
    "label": "team",
}
VOTES: Final[Mapping[str, Json]] = {
    "demo-heron": {
        "answer": "Adjust it in the workshop",
        "confidence": 0.8,
        "rationale": "Wet pads squeal; it takes ten minutes and costs nothing.",
    },
    "demo-egret": {
        "answer": "Send new brake pads",
        "confidence": 0.6,
        "rationale": "She need not come by, and pads are cheap.",
    },
    "demo-ibis": {
        "answer": "Adjust it in the workshop",
        "confidence": 0.7,
        "rationale": "Pads are wear, and two weeks old ones are hardly worn.",
    },
}
"""Three small programs that have made up their minds; there is no model behind them."""
INSTRUCTIONS: Final = (
    "You work in the office of a made-up bicycle shop. Read the ticket, its order and the "
    "handbook before you answer, and say in few words what you would do."
)
READS: Final = (
    "demo-tickets.list_tickets",
    "demo-tickets.read_ticket",
    "demo-orders.read_order",
    "demo-notes.search_notes",
    "demo-notes.read_note",
)
