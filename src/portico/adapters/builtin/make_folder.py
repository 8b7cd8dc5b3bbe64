"""`make_folder`: a folder in the caller's workspace."""

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

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        path = given.text(arguments, "path")
        workspace = await self.workspaces.of(errand)
        await workspace.check_room(0)
        await workspace.files.make_folder(path)
        return told(f"There is a folder {path}.", {"path": path})
