"""`move_file`: another name or folder for something in the caller's workspace."""

from dataclasses import dataclass
from typing import ClassVar, Final

from portico.adapters.builtin import given
from portico.adapters.builtin.answers import told
from portico.adapters.builtin.paths import PATH
from portico.adapters.builtin.tool import Errand, Everywhere, Offered, hints, schema
from portico.adapters.builtin.workspace import Workspaces
from portico.gateway.core.calls import Answer
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject

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

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        path, to = given.text(arguments, "path"), given.text(arguments, "to")
        workspace = await self.workspaces.of(errand)
        await workspace.files.move(path, to)
        return told(f"Moved {path} to {to}.", {"path": to})
