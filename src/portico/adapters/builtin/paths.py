"""How a file of a workspace is named in what our tools are given."""

from typing import Final

from portico.kernel.json import JsonObject

PATH: Final[JsonObject] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 4096,
    "description": "Relative to your workspace, such as `notes/today.md`.",
}
