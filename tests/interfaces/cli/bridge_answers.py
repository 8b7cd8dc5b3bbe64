"""Projects, conversations and messages as a server shows them."""

from typing import Any

PROJECT_ID = "prj_01m7fxv1skfhf86xxtf6psvgaa"
PLAN_ID = "cnv_01m7fxv1skfhf86xxtf6psvgbb"
OTHER_ID = "cnv_01m7fxv1skfhf86xxtf6psvgcc"
ANA, HELPER, PLANNER = (f"prn_01m7fxv1skfhf86xxtf6psvg{end}" for end in ("d1", "d2", "d3"))
NAMES = {ANA: "ana", HELPER: "helper", PLANNER: "planner"}
NOON = "2026-01-01T12:00:00Z"

PROJECT: dict[str, Any] = {
    "id": PROJECT_ID,
    "name": "apollo",
    "description": "To the moon.",
    "label": "team",
    "made_by": ANA,
    "made_at": NOON,
    "archived_at": None,
    "active_at": NOON,
}


def a_conversation(**changes: Any) -> dict[str, Any]:
    return {
        "id": PLAN_ID,
        "project": PROJECT_ID,
        "title": "plan",
        "label": "team",
        "closed": False,
        "made_by": ANA,
        "made_at": NOON,
        "archived_at": None,
        "active_at": NOON,
    } | changes


PLAN = a_conversation()


def message_id(number: int) -> str:
    return f"msg_01m7fxv1skfhf86xxtf6m{number:05}"


def a_message(number: int = 1, sender: str = ANA, **changes: Any) -> dict[str, Any]:
    return {
        "id": message_id(number),
        "conversation": PLAN_ID,
        "sender": sender,
        "sender_name": NAMES[sender],
        "body": f"number {number}",
        "label": "team",
        "reply_to": None,
        "thread": None,
        "mentions": [],
        "addressed": [],
        "attachments": [],
        "acknowledge": None,
        "untrusted": False,
        "sent_at": f"2026-01-01T12:{number % 60:02}:00Z",
        "edited_at": None,
        "deleted_at": None,
    } | changes


def page(*items: Any) -> dict[str, Any]:
    return {"data": [*items], "next": None}


def messages(*items: Any, **changes: Any) -> dict[str, Any]:
    return {"data": [*items], "cursor": "later", "more": False, "reset": False} | changes


EVERYBODY = page(
    *(
        {"id": who, "name": name, "kind": "person" if name == "ana" else "agent"}
        for who, name in NAMES.items()
    )
)
TABLE: dict[str, Any] = {
    "GET /me": {"id": ANA, "name": "ana", "kind": "person"},
    "GET /principals": EVERYBODY,
    "GET /projects": page(PROJECT),
    "GET /projects/apollo": PROJECT,
    "GET /conversations": page(PLAN),
    f"GET /conversations/{PLAN_ID}": PLAN,
}
"""What most commands ask for first."""
