"""A tool of a sample server: what it is called with, what it gives, and what it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

Schema = Mapping[str, Any]
Fields = Mapping[str, Schema]

TEXT: Final[Schema] = MappingProxyType({"type": "string"})
NUMBER: Final[Schema] = MappingProxyType({"type": "number"})
_SEEN: Final = "Sample data, made up."


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    does: str
    takes: Fields = field(default_factory=dict)
    gives: Fields
    run: Callable[..., Mapping[str, Any]]
    """Raises `LookupError` for what is not there, `ValueError` for what cannot be done."""
    optional: tuple[str, ...] = ()
    reads: bool = True
    destroys: bool = False

    @property
    def listed(self) -> Mapping[str, Any]:
        """As `tools/list` tells it."""
        needed = [name for name in self.takes if name not in self.optional]
        return {
            "name": self.name,
            "description": f"{self.does} {_SEEN}",
            "inputSchema": _object(self.takes, needed),
            "outputSchema": _object(self.gives, list(self.gives)),
            "annotations": {
                "readOnlyHint": self.reads,
                "destructiveHint": self.destroys,
                "openWorldHint": False,
            },
        }


def described(schema: Schema, what: str) -> Schema:
    return {**schema, "description": what}


def list_of(fields: Fields) -> Schema:
    return {"type": "array", "items": _object(fields, list(fields))}


def _object(fields: Fields, needed: list[str]) -> dict[str, Any]:
    properties = {name: dict(schema) for name, schema in fields.items()}
    return {"type": "object", "properties": properties, "required": needed}
