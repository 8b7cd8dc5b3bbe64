"""`remove_file`: a file of the caller's workspace, or an empty folder, goes away."""

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

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        path = given.text(arguments, "path")
        workspace = await self.workspaces.of(errand)
        await workspace.files.remove(path)
        return told(f"Removed {path}.", {"path": path})
