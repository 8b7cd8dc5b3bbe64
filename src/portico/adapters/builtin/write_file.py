"""`write_file`: a file of the caller's workspace, whole or not at all."""

from dataclasses import dataclass
from typing import ClassVar, Final

from portico.adapters.builtin import given
from portico.adapters.builtin.answers import told
from portico.adapters.builtin.errors import NothingToWrite
from portico.adapters.builtin.paths import PATH
from portico.adapters.builtin.tool import Errand, Everywhere, Offered, hints, schema
from portico.adapters.builtin.workspace import Workspaces
from portico.gateway.core.calls import Answer
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject

LARGEST: Final = 5_000_000

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
                "text": {"type": "string", "maxLength": LARGEST},
                "base64": {
                    "type": "string",
                    "maxLength": LARGEST // 3 * 4 + 4,
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

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        path, body = given.text(arguments, "path"), given.body(arguments)
        if not arguments.keys() & {"text", "base64"}:
            raise NothingToWrite(path)
        workspace = await self.workspaces.of(errand)
        await workspace.check_room(len(body))
        await workspace.files.write(path, body)
        return told(f"{path} has {len(body):,} bytes now.", {"path": path, "size": len(body)})
