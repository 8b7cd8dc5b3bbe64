"""Built-in tools for files in the caller's workspace."""

import asyncio
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from portico.adapters.builtin import tool
from portico.adapters.builtin.tool import (
    Everywhere,
    NothingToWrite,
    Offered,
    ToolInvocation,
    WorkspaceFull,
    content,
    hints,
    schema,
    told,
    words_of,
)
from portico.adapters.system.files import make_above
from portico.gateway.core.calls import ToolResult
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.sandbox.core.errors import FileTrouble
from portico.sandbox.core.profile import Entry, FileContent
from portico.sandbox.requests import Files

LARGEST: Final = 1_000_000_000
"""Bytes that a workspace may hold. It is looked at before something is written."""
_MODE: Final = 0o700
_MOST_FILES: Final = 200_000
"""With more of them than that it is full too: counting them takes its time."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The account that things in a box run as when Portico itself is root."""

    user: int
    group: int


@dataclass(frozen=True, slots=True)
class Workspace:
    folder: Path
    files: Files
    largest: int = LARGEST

    async def left(self) -> int:
        """Bytes that still fit; 0 if it is full."""
        return max(0, self.largest - await self._used())

    async def check_room(self, size: int) -> None:
        """Raises `WorkspaceFull`."""
        used = await self._used()
        if used + size > self.largest:
            raise WorkspaceFull(used, self.largest)

    async def _used(self) -> int:
        return await asyncio.to_thread(self._counted)

    def _counted(self) -> int:
        used = 0
        for many, size in enumerate(_sizes(self.folder)):
            used += size
            if used > self.largest or many >= _MOST_FILES:
                return max(used, self.largest)
        return used


class Workspaces:
    def __init__(
        self,
        root: Path,
        open_files: Callable[[Path], Files],
        *,
        owner: Owner | None = None,
        largest: int = LARGEST,
    ) -> None:
        """`owner` is whoever runs in the box, and has to write there; None where that is us."""
        self._root = root
        self._open_files = open_files
        self._owner = owner
        self._largest = largest

    async def of(self, errand: ToolInvocation) -> Workspace:
        """Made when it is first needed. Raises `FileTrouble`."""
        return await asyncio.to_thread(self._opened, errand)

    def _opened(self, errand: ToolInvocation) -> Workspace:
        folder = self._root / str(errand.space) / str(errand.caller)
        try:
            self._make(folder)
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            raise FileTrouble("the workspace", f"it cannot be made: {reason}") from error
        return Workspace(folder, self._open_files(folder), self._largest)

    def _make(self, folder: Path) -> None:
        """Whoever else makes it at the same time makes the same. Above it only we write, so
        nobody can put a link in its place; a command in it can open it to others, or close it to
        itself, and that is put right."""
        if not folder.is_dir():
            make_above(folder)
            folder.mkdir(mode=_MODE, exist_ok=True)
        seen = folder.stat()
        if stat.S_IMODE(seen.st_mode) != _MODE:
            folder.chmod(_MODE)
        if self._owner is not None and seen.st_uid != self._owner.user:
            os.chown(folder, self._owner.user, self._owner.group)


def _sizes(folder: Path) -> Iterator[int]:
    """Of whatever is below it, as large as it says it is; links lead nowhere. What goes away
    meanwhile, or may not be looked into, does not count."""
    below = [os.fspath(folder)]
    while below:
        try:
            with os.scandir(below.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        below.append(entry.path)
                    yield _size(entry)
        except OSError:
            continue


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


PATH: Final[JsonObject] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 4096,
    "description": "Relative to your workspace, such as `notes/today.md`.",
}

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

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        workspace = await self.workspaces.of(errand)
        limit = tool.number(arguments, "limit", _USUAL)
        found = await workspace.files.list(tool.text(arguments, "path"), limit=limit + 1)
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


MAKE_FOLDER: Final = Offered(
    {
        "name": "make_folder",
        "title": "Make a folder",
        "description": (
            "Make a folder in your workspace, with those on the way to it. One that is there "
            "already stays as it is."
        ),
        "inputSchema": schema({"path": PATH}, required=["path"]),
        "outputSchema": schema({"path": {"type": "string"}}, required=["path"]),
        "annotations": hints(again=True),
    },
    Effect.LOCAL_WRITE,
)


@dataclass(frozen=True, slots=True)
class MakeFolder(Everywhere):
    workspaces: Workspaces
    offered: ClassVar[Offered] = MAKE_FOLDER

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        path = tool.text(arguments, "path")
        workspace = await self.workspaces.of(errand)
        await workspace.check_room(0)
        await workspace.files.make_folder(path)
        return told(f"There is a folder {path}.", {"path": path})


MOVE_FILE: Final = Offered(
    {
        "name": "move_file",
        "title": "Move or rename a file",
        "description": (
            "Move or rename a file or a folder of your workspace. Folders on the way to its new "
            "place are made; nothing is replaced."
        ),
        "inputSchema": schema({"path": PATH, "to": PATH}, required=["path", "to"]),
        "outputSchema": schema({"path": {"type": "string"}}, required=["path"]),
        "annotations": hints(),
    },
    Effect.LOCAL_WRITE,
)


@dataclass(frozen=True, slots=True)
class MoveFile(Everywhere):
    workspaces: Workspaces
    offered: ClassVar[Offered] = MOVE_FILE

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        path, to = tool.text(arguments, "path"), tool.text(arguments, "to")
        workspace = await self.workspaces.of(errand)
        await workspace.files.move(path, to)
        return told(f"Moved {path} to {to}.", {"path": to})


AT_ONCE: Final = 1_000_000
_READ_USUAL: Final = 100_000
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
                    "default": _READ_USUAL,
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

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        workspace = await self.workspaces.of(errand)
        found = await workspace.files.read(
            tool.text(arguments, "path"),
            offset=tool.number(arguments, "offset", 0),
            limit=tool.number(arguments, "limit", _READ_USUAL),
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


REMOVE_FILE: Final = Offered(
    {
        "name": "remove_file",
        "title": "Remove a file",
        "description": "Remove a file of your workspace, or a folder that is empty, for good.",
        "inputSchema": schema({"path": PATH}, required=["path"]),
        "outputSchema": schema({"path": {"type": "string"}}, required=["path"]),
        "annotations": hints(destroys=True),
    },
    # For good, and yet no more than `shell` and `write_file` can do: nobody's but the caller's own.
    Effect.LOCAL_WRITE,
)


@dataclass(frozen=True, slots=True)
class RemoveFile(Everywhere):
    workspaces: Workspaces
    offered: ClassVar[Offered] = REMOVE_FILE

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        path = tool.text(arguments, "path")
        workspace = await self.workspaces.of(errand)
        await workspace.files.remove(path)
        return told(f"Removed {path}.", {"path": path})


WRITE_LARGEST: Final = 5_000_000

WRITE_FILE: Final = Offered(
    {
        "name": "write_file",
        "title": "Write a file",
        "description": (
            "Write a file of your workspace, from `text` or from `base64`. What was in the file "
            "before is replaced; folders on the way are made."
        ),
        "inputSchema": schema(
            {
                "path": PATH,
                "text": {"type": "string", "maxLength": WRITE_LARGEST},
                "base64": {
                    "type": "string",
                    "maxLength": WRITE_LARGEST // 3 * 4 + 4,
                    "description": "Instead of `text`, for bytes that are no text.",
                },
            },
            required=["path"],
        ),
        "outputSchema": schema(
            {"path": {"type": "string"}, "size": {"type": "integer"}}, required=["path", "size"]
        ),
        "annotations": hints(destroys=True, again=True),
    },
    Effect.LOCAL_WRITE,
)


@dataclass(frozen=True, slots=True)
class WriteFile(Everywhere):
    workspaces: Workspaces
    offered: ClassVar[Offered] = WRITE_FILE

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        path, body = tool.text(arguments, "path"), tool.body(arguments)
        if not arguments.keys() & {"text", "base64"}:
            raise NothingToWrite(path)
        workspace = await self.workspaces.of(errand)
        await workspace.check_room(len(body))
        await workspace.files.write(path, body)
        return told(f"{path} has {len(body):,} bytes now.", {"path": path, "size": len(body)})
