"""What is told in the pictures: servers of a shop's office, a plan, a chat, a debate."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.scenarios.scripted_model import calls, says
from tests.scenarios.voting_models import MODELS, vote

Tool = dict[str, Any]
_TEXT: Final = {"type": "string"}


def _tool(name: str, what: str, *, writes: bool = False, **fields: Mapping[str, Any]) -> Tool:
    return {
        "name": name,
        "description": what,
        "inputSchema": {"type": "object", "properties": fields, "required": sorted(fields)},
        "annotations": {"readOnlyHint": not writes, "destructiveHint": False},
    }


TOOLS: Final[Mapping[str, Sequence[Tool]]] = {
    "files": [
        _tool("list_directory", "The files of a folder.", path=_TEXT),
        _tool("read_file", "What a file holds.", path=_TEXT),
        _tool("write_file", "Put text into a file.", writes=True, path=_TEXT, text=_TEXT),
    ],
    "ledger": [
        _tool("query", "Ask the ledger by SQL; it only reads.", query=_TEXT),
        _tool("merge", "Add up several reports.", parts={"type": "array"}),
    ],
    "notes": [_tool("search", "Find what was noted before.", query=_TEXT)],
    "charts": [_tool("render", "Draw a chart of rows.", rows={"type": "array"}, title=_TEXT)],
    "writer": [
        _tool("summarise", "Say a text in fewer words.", text=_TEXT),
        _tool("validate", "Whether a report has all that it needs.", text=_TEXT),
    ],
}
"""Beside those of the catalogue."""

ANSWERS: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "files": {
        "list_directory": {"seconds": 0.5, "result": {"entries": ["a.json", "b.json", "c.json"]}},
        "read_file": {"seconds": 1.0, "result": {"orders": 412, "revenue": 18211.4, "returns": 12}},
    },
    "ledger": {
        "query": {
            "seconds": 2.3,
            "result": {"rows": [{"week": 46, "churn": 0.021}, {"week": 45, "churn": 0.024}]},
        },
        "merge": {"seconds": 0.6, "result": {"orders": 1231, "revenue": 55120.9}},
    },
    "notes": {
        "search": {"seconds": 0.8, "result": {"found": ["The report goes to harbour/reports"]}}
    },
    "charts": {"render": {"seconds": 1.5, "result": {"image": "churn-46.png", "width": 800}}},
    "writer": {
        "summarise": {
            "seconds": 2.6,
            "result": {"text": "1,231 orders, revenue up 4 %. Returns are down."},
        },
        "validate": {"seconds": 0.4, "result": {"valid": True, "missing": []}},
    },
    "fetch": {"fetch": {"seconds": 0.9, "fails": 1, "result": {"body": "EUR 1.0823"}}},
}


def _from(what: str) -> Mapping[str, str]:
    return {"$from": what}


REPORT: Final[Mapping[str, Any]] = {
    "name": "weekly-report",
    "description": "Weekly report",
    "steps": [
        {"id": "ls", "tool": "files.list_directory", "arguments": {"path": "week-46"}},
        *(
            {
                "id": f"read{place}",
                "tool": "files.read_file",
                "arguments": {"path": _from(f"ls.json.entries[{place}]")},
            }
            for place in range(3)
        ),
        {
            "id": "merge",
            "tool": "ledger.merge",
            "arguments": {"parts": [_from(f"read{place}.json") for place in range(3)]},
        },
        {
            "id": "churn",
            "tool": "ledger.query",
            "arguments": {"query": "select week, churn from churn order by week desc limit 2"},
        },
        {
            "id": "rate",
            "tool": "fetch.fetch",
            "arguments": {"url": "https://rates.example/eur"},
            "tries": 3,
        },
        {"id": "before", "tool": "notes.search", "arguments": {"query": "weekly report"}},
        {
            "id": "summary",
            "tool": "writer.summarise",
            "arguments": {
                "text": {
                    "$text": "Orders ${merge.json.orders}, churn ${churn.json.rows[0].churn}, "
                    "rate ${rate.json.body}"
                }
            },
        },
        {
            "id": "chart",
            "tool": "charts.render",
            "arguments": {"rows": _from("churn.json.rows"), "title": _from("before.json.found[0]")},
        },
        {
            "id": "check",
            "tool": "writer.validate",
            "arguments": {"text": _from("summary.json.text")},
        },
        {
            "id": "issue",
            "tool": "github.create_issue",
            "arguments": {
                "owner": "harbour",
                "repo": "reports",
                "title": "Weekly report, week 46",
                "body": {"$text": "${summary.json.text}\n\n${chart.json.image}"},
                "labels": ["report"],
            },
            "after": ["check"],
        },
        {
            "id": "tell",
            "tool": "slack.slack_post_message",
            "arguments": {"channel_id": "C0REPORTS", "text": "The report of week 46 is there."},
            "after": ["issue"],
        },
    ],
}

ASKED: Final = "How did last week go, and is the churn better than before?"
CHAT: Final[Sequence[Mapping[str, Any]]] = [
    calls(
        ("ledger.query", {"query": "select week, churn from churn order by week desc limit 2"}),
        ("files.list_directory", {"path": "week-46"}),
        say="I look at the ledger and at the files of the week.",
    ),
    calls(("files.read_file", {"path": "a.json"}), say="One more file."),
    says(
        "**Last week was better.**\n\n"
        "| | week 45 | week 46 |\n|---|---|---|\n| churn | 2.4 % | **2.1 %** |\n"
        "| orders | 1,184 | **1,231** |\n\n"
        "Returns are down as well. Shall I open the weekly report as an issue?"
    ),
]
TALK: Final[Sequence[tuple[str, str]]] = [
    ("person", "We need a store that survives a crash, and that **two** of us can read at once."),
    ("agent", "I have read the issues of the last month: 7 of 31 are about files that were torn."),
    ("person", "Then it is SQLite or PostgreSQL. What speaks against SQLite?"),
    (
        "agent",
        "One writer at a time. In `orders` there are up to four:\n\n"
        "```sql\nselect count(distinct writer) from orders where at > '11:40'\n```",
    ),
    ("person", "Let several models look at it, before we decide."),
]
QUESTION: Final[Mapping[str, Any]] = {
    "question": "Which store fits the order book: four writers, 40 GB, one machine?",
    "choices": ["PostgreSQL", "SQLite", "Flat files"],
    "voices": [f"voters:{model}" for model in MODELS],
    "preset": "debate",
    "thoroughness": 0.8,
}
_REASONS: Final = {
    MODELS[0]: ("PostgreSQL", 0.82, "Four writers at once need row locks, and it has them."),
    MODELS[1]: ("SQLite", 0.66, "One machine, and WAL mode lets readers go on while one writes."),
    MODELS[2]: ("PostgreSQL", 0.74, "Concurrent writers and 40 GB: it is made for that."),
    MODELS[3]: ("SQLite", 0.58, "No server to look after; four writers are few."),
}


def votes(model: str, text: str) -> str:
    """The second changes its mind once it has read the others."""
    answer, sure, why = _REASONS[model]
    if "changed_because" in text and model == MODELS[1]:
        because = "In WAL mode there is still one writer at a time, and there are four."
        return vote("PostgreSQL", 0.71, "Four writers decide it.", changed_because=because)
    return vote(answer, sure, why)
