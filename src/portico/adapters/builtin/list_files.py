"""`list_files`: what is in a folder of the caller's workspace."""

from dataclasses import dataclass
from typing import ClassVar, Final

from portico.adapters.builtin import given
from portico.adapters.builtin.answers import told
from portico.adapters.builtin.tool import Errand, Everywhere, Offered, hints, schema
from portico.adapters.builtin.workspace import Workspaces
from portico.gateway.core.calls import Answer
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.sandbox.core.profile import Entry

_MOST: Final = 1_000
_USUAL: Final = 200

LIST_FILES: Final = Offered(
    {
        "name": "list_files",
        "title": "List files",
        "description": (
            "List the files and folders in a folder of your workspace by name: not those in the "
            "folders in it."
        ),
        "inputSchema": schema(
            {
                "path": {
                    "type": "string",
                    "maxLength": 4096,
                    "default": "",
                    "description": "Relative to your workspace; empty for the workspace itself.",
                },
                "limit": {"type": "integer", "minimum": 1, "maximum": _MOST, "default": _USUAL},
            }
        ),
        "outputSchema": schema(
            {
                "entries": {
                    "type": "array",
                    "items": schema(
                        {
                            "path": {"type": "string"},
                            "kind": {"enum": ["file", "folder", "other"]},
                            "size": {"type": "integer"},
                            "changed_at": {"type": "string", "format": "date-time"},
                        },
                        required=["path", "kind", "size", "changed_at"],
                    ),
                },
                "more": {"type": "boolean", "description": "There are more than were asked for."},
            },
            required=["entries", "more"],
        ),
        "annotations": hints(reads=True, again=True),
    },
    Effect.LOCAL_READ,
)


@dataclass(frozen=True, slots=True)
class ListFiles(Everywhere):
    workspaces: Workspaces
    offered: ClassVar[Offered] = LIST_FILES

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        workspace = await self.workspaces.of(errand)
        limit = given.number(arguments, "limit", _USUAL)
        found = await workspace.files.list(given.text(arguments, "path"), limit=limit + 1)
        shown, more = found[:limit], len(found) > limit
        lines = [_line(entry) for entry in shown] or ["It is empty."]
        if more:
            lines.append(f"[there are more than {limit}]")
        return told("\n".join(lines), {"entries": [*map(_facts, shown)], "more": more})


def _line(entry: Entry) -> str:
    if entry.kind == "folder":
        return f"{entry.path}/"
    return f"{entry.path}  {entry.size:,} bytes" if entry.kind == "file" else f"{entry.path}  ?"


def _facts(entry: Entry) -> JsonObject:
    return {
        "path": entry.path,
        "kind": entry.kind,
        "size": entry.size,
        "changed_at": entry.changed_at.isoformat(),
    }
