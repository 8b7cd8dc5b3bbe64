"""What customers of the shop bought: orders that can be looked at and refunded."""

from collections.abc import Mapping
from typing import Any, Final

from portico.samples.tool import NUMBER, TEXT, Tool, described, list_of

_ORDERS: Final[dict[str, dict[str, Any]]] = {
    "O-2501": {
        "customer": "Ines",
        "item": "Heron city bicycle",
        "price": 890.0,
        "status": "delivered",
        "days_ago": 16,
    },
    "O-2502": {
        "customer": "Tomas",
        "item": "Panniers, a pair",
        "price": 124.5,
        "status": "sent",
        "days_ago": 12,
    },
    "O-2503": {
        "customer": "Ruth",
        "item": "Ember lamp",
        "price": 59.9,
        "status": "delivered",
        "days_ago": 410,
    },
}
_ID: Final = described(TEXT, "As a ticket names it, O-2501.")
_FACTS: Final = {
    "id": TEXT,
    "customer": TEXT,
    "item": TEXT,
    "price": NUMBER,
    "status": TEXT,
    "days_ago": described({"type": "integer"}, "Days since it was ordered."),
}


def list_orders(customer: str | None = None) -> Mapping[str, Any]:
    found = [
        {"id": key, **order}
        for key, order in _ORDERS.items()
        if customer in (None, order["customer"])
    ]
    return {"orders": found}


def read_order(id: str) -> Mapping[str, Any]:  # noqa: A002 # what the tool calls it
    return {"id": id, **_order(id)}


def refund_order(id: str, amount: float, reason: str) -> Mapping[str, Any]:  # noqa: A002 # likewise
    order = _order(id)
    if not 0 < amount <= order["price"]:
        raise ValueError(f"{id} cost {order['price']:.2f}: no more than that can be paid back.")
    if order["status"] == "refunded":
        raise ValueError(f"{id} was paid back already.")
    order["status"] = "refunded"
    return {"id": id, "refunded": amount, "reason": reason}


def _order(key: str) -> dict[str, Any]:
    if key not in _ORDERS:
        raise LookupError(f"There is no order {key!r}; list_orders shows them.")
    return _ORDERS[key]


TOOLS: Final = (
    Tool(
        name="list_orders",
        does="List orders, of one customer or of all.",
        takes={"customer": described(TEXT, "Only of this one.")},
        optional=("customer",),
        gives={"orders": list_of(_FACTS)},
        run=list_orders,
    ),
    Tool(
        name="read_order",
        does="Read one order: what was bought, for how much, and where it is.",
        takes={"id": _ID},
        gives=_FACTS,
        run=read_order,
    ),
    Tool(
        name="refund_order",
        does="Refund an order: the money is paid back at once, and that cannot be undone.",
        takes={
            "id": _ID,
            "amount": described(NUMBER, "At most the price."),
            "reason": TEXT,
        },
        gives={"id": TEXT, "refunded": NUMBER, "reason": TEXT},
        run=refund_order,
        reads=False,
        destroys=True,
    ),
)
