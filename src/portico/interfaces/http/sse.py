"""What happens, as server-sent events: a name, one line of JSON, and where its reader stands."""

import json
import re
from typing import Any, Final

from portico.engine.core.event_log import Aside, Entry

MEDIA_TYPE: Final = "text/event-stream"
HEARTBEAT: Final = b":\n\n"
END: Final = b"event: end\ndata: {}\n\n"
_UNSAFE: Final = re.compile(r"[^\x21-\x7e]")
_LINE_ENDS: Final = {0x85: r"\u0085", 0x2028: r"\u2028", 0x2029: r"\u2029"}


class ServerSentEvents:
    """The engine's `Wording`."""

    def told(self, happened: Entry | Aside) -> bytes:
        # What cannot be UTF-8, half of a surrogate pair, is written as JSON escapes it.
        name = _UNSAFE.sub("_", happened.type)
        text = json.dumps(event_json(happened), ensure_ascii=False, separators=(",", ":"))
        return f"event: {name}\ndata: {one_line(text)}\n\n".encode(errors="backslashreplace")

    def marked(self, cursor: str, told: bytes) -> bytes:
        return f"id: {cursor}\n".encode() + told

    def trimmed(self, topic: str) -> bytes:
        return f"event: reset\ndata: {json.dumps({'topic': topic})}\n\n".encode()


def one_line(text: str) -> str:
    """JSON that is one line to everybody: some readers end one wherever Unicode does."""
    return text.translate(_LINE_ENDS)


def retry_after(milliseconds: int) -> bytes:
    return f"retry: {milliseconds}\n\n".encode()


def event_json(happened: Entry | Aside) -> dict[str, Any]:
    return {
        "topic": happened.topic,
        "type": happened.type,
        "at": happened.at.isoformat().replace("+00:00", "Z"),
        "by": None if happened.by is None else str(happened.by),
        "label": str(happened.label),
        "facts": happened.facts,
    }
