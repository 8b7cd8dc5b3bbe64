"""The tools of `just bench web`: many servers of a few dozen each, that find what they are asked
for and change nothing."""

from typing import Any, Final

_NOUNS: Final = (
    "accounts", "alerts", "articles", "backups", "bookings", "branches", "budgets", "builds",
    "calendars", "certificates", "contacts", "containers", "contracts", "customers", "dashboards",
    "deployments", "devices", "domains", "drafts", "events", "expenses", "files", "forms",
    "incidents", "invoices", "issues", "jobs", "keys", "letters", "licences", "mailboxes", "maps",
    "meetings", "metrics", "notes", "orders", "packages", "payments", "pictures", "policies",
    "queues", "recipes", "releases", "reports", "rooms", "secrets", "shipments", "tables",
    "tickets", "trips",
)  # fmt: skip
_VERBS: Final = (
    "list", "get", "search", "count", "compare", "export", "preview", "validate", "summarise",
    "history_of", "create", "update", "rename", "move", "copy", "tag", "share", "assign", "archive",
    "delete",
)  # fmt: skip
_READING: Final = 10
"""The first so many of them change nothing."""
A_SERVER: Final = len(_VERBS)
ASKED: Final = "share"
"""What nobody does without a person's yes."""

Json = dict[str, Any]


def server_names(many: int) -> list[str]:
    return [_numbered(_NOUNS, place) for place in range(many)]


def tool_names(server: str, many: int) -> list[str]:
    return [f"{_numbered(_VERBS, place)}_{server.replace('-', '_')}" for place in range(many)]


def _numbered(words: tuple[str, ...], place: int) -> str:
    round_, at = divmod(place, len(words))
    return f"{words[at]}-{round_ + 1}" if round_ else words[at]


def reads(server: str) -> list[str]:
    """What a plan may call without anybody's yes."""
    return [f"{server}.{name}" for name in tool_names(server, 3)]


def definitions(server: str, many: int) -> list[Json]:
    return [
        _definition(name, server, changes=place % len(_VERBS) >= _READING)
        for place, name in enumerate(tool_names(server, many))
    ]


def _definition(name: str, server: str, *, changes: bool) -> Json:
    doing = name.replace("_", " ")
    properties: Json = {
        "query": {"type": "string", "description": f"Which of the {server} are meant."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 500, "description": "At most."},
        "since": {"type": "string", "description": "No older than this, as an ISO date."},
        "fields": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What to tell of each; left away, all that is known.",
        },
    }
    if changes:
        properties["reason"] = {"type": "string", "description": "For the record."}
    return {
        "name": name,
        "description": f"{doing.capitalize()} in the workspace, "
        f"{'which is written down' if changes else 'without changing anything'}. Gives an id, a "
        "name and a state for each, the newest first.",
        "inputSchema": {"type": "object", "properties": properties, "required": ["query"]},
        "annotations": {"readOnlyHint": not changes, "destructiveHint": "delete" in name},
    }


def found(name: str, arguments: Json) -> Json:
    """What a call gives: the same for the same question."""
    query = str(arguments.get("query", ""))[:80]
    items = [
        {"id": f"{name}-{place}", "name": f"{query} {place}", "state": "open"} for place in range(3)
    ]
    return {"query": query, "items": items, "next": None}
