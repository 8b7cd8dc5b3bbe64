"""`read_file`: a file of the caller's workspace, or a part of one."""

from dataclasses import dataclass
from typing import ClassVar, Final

from portico.adapters.builtin import given
from portico.adapters.builtin.answers import content, told, words_of
from portico.adapters.builtin.paths import PATH
from portico.adapters.builtin.tool import Errand, Everywhere, Offered, hints, schema
from portico.adapters.builtin.workspace import Workspaces
from portico.gateway.core.calls import Answer
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.sandbox.core.profile import FileContent

AT_ONCE: Final = 1_000_000
_USUAL: Final = 100_000
_LONGEST_LETTER: Final = 4
"""Bytes of one letter in UTF-8."""

READ_FILE: Final = Offered(
    {
        "name": "read_file",
        "title": "Read a file",
        "description": (
            "Read a file of your workspace, or a part of it: as text, or as base64 if it is not "
            "UTF-8. Where more follows, `next_offset` says where to go on."
        ),
        "inputSchema": schema(
            {
                "path": PATH,
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "default": 0,
                    "description": "The byte to begin with.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": AT_ONCE,
                    "default": _USUAL,
                    "description": "Bytes to read at most.",
                },
            },
            required=["path"],
        ),
        "outputSchema": schema(
            {
                "text": {"type": "string"},
                "base64": {"type": "string", "description": "Instead of `text`."},
                "size": {"type": "integer", "description": "Bytes of the whole file."},
                "next_offset": {"type": ["integer", "null"], "description": "Null at its end."},
            },
            required=["size", "next_offset"],
        ),
        "annotations": hints(reads=True, again=True),
    },
    Effect.LOCAL_READ,
)


@dataclass(frozen=True, slots=True)
class ReadFile(Everywhere):
    workspaces: Workspaces
    offered: ClassVar[Offered] = READ_FILE

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        workspace = await self.workspaces.of(errand)
        found = await workspace.files.read(
            given.text(arguments, "path"),
            offset=given.number(arguments, "offset", 0),
            limit=given.number(arguments, "limit", _USUAL),
        )
        body = _whole_letters(found)
        shown = content(body)
        end = found.offset + len(body)
        more = end if body and end < found.size else None
        words = words_of(shown)
        if more is not None:
            words += f"\n[{found.size:,} bytes in all; the next: offset={more}]"
        return told(words, {**shown, "size": found.size, "next_offset": more})


def _whole_letters(found: FileContent) -> bytes:
    """Without a letter that the limit has cut in two, if that is all that keeps it from being a
    text; the next part begins with it."""
    body = found.content
    try:
        body.decode()
    except UnicodeDecodeError as error:
        cut = error.start > len(body) - _LONGEST_LETTER and "unexpected end" in error.reason
        more = found.offset + len(body) < found.size
        return body[: error.start] if cut and more and error.start else body
    return body
